import { type TProperties, type TSchema, Type } from '@sinclair/typebox';

/** An object without unknown keys; all of its keys may be left out. */
export const section = <T extends TProperties>(properties: T, description?: string) =>
  Type.Partial(
    Type.Object(properties, { additionalProperties: false, ...(description === undefined ? {} : { description }) }),
  );

/** A section, or the word that switches it off. */
export const orOff = <T extends TSchema>(schema: T) => Type.Union([Type.Literal('off'), schema]);

/** One of some words. */
export const oneOf = <const T extends readonly string[]>(words: T, description?: string) =>
  Type.Unsafe<T[number]>(
    Type.Union(
      words.map((word) => Type.Literal(word)),
      description === undefined ? {} : { description },
    ),
  );

/** Whole milliseconds from 1 to a day. */
export const ms = (description: string) => Type.Integer({ minimum: 1, maximum: 86_400_000, description });

/** A whole number. */
export const count = (description: string, minimum = 1, maximum = 1_000_000) =>
  Type.Integer({ minimum, maximum, description });
/** More than 0, at most 1. */
export const ratio = (description: string) => Type.Number({ exclusiveMinimum: 0, maximum: 1, description });

/** An http or https address without credentials, query and fragment. */
export const baseUrl = Type.String({
  pattern: '^https?://[^\\s/?#@]+(/[^\\s?#@]*)?$',
  description: 'http:// or https:// address without user, query and fragment',
});
/** The path of a request. */
export const path = Type.String({ pattern: '^/', description: 'path that starts with /' });

/** Name of a request header. */
export const headerName = Type.String({ pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$" });
