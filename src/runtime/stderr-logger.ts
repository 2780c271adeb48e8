import { createLogger } from '../adapters/pino/logger.ts';
import type { LogLevel } from '../config/config.ts';
import type { Logger } from '../ports/logger.ts';

/** A log on standard error, for commands whose standard output is their result. */
export function stderrLogger(level: LogLevel, secrets: readonly string[]): Logger {
  return createLogger({ level, secrets, destination: process.stderr });
}
