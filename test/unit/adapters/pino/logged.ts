import { createLogger, type LoggerOptions } from '../../../../src/adapters/pino/logger.ts';
import type { Logger } from '../../../../src/ports/logger.ts';

/** What a log wrote: as text, and parsed. */
export function logged(write: (log: Logger) => void, options: Partial<LoggerOptions> = {}) {
  const lines: string[] = [];
  write(createLogger({ level: 'debug', destination: { write: (line) => void lines.push(line) }, ...options }));
  return { text: lines.join(''), lines: lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}
