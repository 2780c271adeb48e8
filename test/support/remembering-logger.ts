import type { LogFields, Logger } from '../../src/ports/logger.ts';

/** A log that tests can read. */
export class RememberingLogger implements Logger {
  readonly lines: { readonly level: string; readonly fields: LogFields; readonly message: string }[] = [];

  debug(fields: LogFields, message: string): void {
    this.lines.push({ level: 'debug', fields, message });
  }

  info(fields: LogFields, message: string): void {
    this.lines.push({ level: 'info', fields, message });
  }

  warn(fields: LogFields, message: string): void {
    this.lines.push({ level: 'warn', fields, message });
  }

  error(fields: LogFields, message: string): void {
    this.lines.push({ level: 'error', fields, message });
  }

  child(): Logger {
    return this;
  }

  /** Everything that was said, as one text. */
  get text(): string {
    return this.lines.map(({ level, fields, message }) => `${level} ${message} ${JSON.stringify(fields)}`).join('\n');
  }
}
