/** Fields of a log line. Values under names that look like secrets are masked by the adapter. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Structured log. Adapters redact secrets; nobody passes tokens in the first place. */
export interface Logger {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
  child(fields: LogFields): Logger;
}
