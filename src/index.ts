/** The contracts of Larkspur: what stands on its topics, as types and as TypeBox schemas. */
export { type Call, callSchema, type Priority } from './model/call.ts';
export {
  type DeadLetterHistory,
  deadLetterHeaders,
  deadLetterHistorySchema,
  type DeadLetterReason,
  deadLetterReasons,
} from './model/dead-letter.ts';
export { type ErrorCode, errorCodes, LarkspurError } from './model/errors.ts';
export { type Event, eventSchema } from './model/event.ts';
export { type Attempt, type Result, resultSchema } from './model/result.ts';
