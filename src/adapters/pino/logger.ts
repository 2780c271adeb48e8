import { type DestinationStream, pino, stdTimeFunctions } from 'pino';

import { createTextRedactor, type TextRedactor } from '../../model/secret-text.ts';
import type { LogFields, Logger } from '../../ports/logger.ts';

import { createFieldRedactor, type FieldRedactor } from './redact-fields.ts';

/** Levels of a log, the least talkative last. */
type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** What may be set for the log. */
export interface LoggerOptions {
  readonly level: LogLevel;
  /** Where lines go, one JSON object each. Default: standard output. */
  readonly destination?: DestinationStream;
  /** Values masked wherever they stand, beside what looks like a secret by name or form: those of the configuration. */
  readonly secrets?: readonly string[];
}

/**
 * {@link Logger} on pino: one JSON line each with ISO time, level by name and process id.
 *
 * Every field, message, error (with its causes) and URL is copied without secrets before pino sees it; a field that
 * cannot be written never fails the caller. A level that is off costs one comparison.
 */
export function createLogger(options: LoggerOptions): Logger {
  const root = pino(
    {
      level: options.level,
      timestamp: stdTimeFunctions.isoTime,
      base: { pid: process.pid },
      formatters: { level: (label) => ({ level: label }) },
    },
    options.destination,
  );
  const redactText = createTextRedactor(options.secrets);
  return wrap(root, redactText, createFieldRedactor(redactText));
}

function wrap(log: pino.Logger, redactText: TextRedactor, redactFields: FieldRedactor): Logger {
  const at = (level: 'debug' | 'info' | 'warn' | 'error') => (fields: LogFields, message: string) => {
    if (log.isLevelEnabled(level)) log[level](redactFields(fields), redactText(message));
  };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => wrap(log.child(redactFields(fields)), redactText, redactFields),
  };
}
