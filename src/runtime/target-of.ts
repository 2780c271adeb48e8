import { LarkspurError } from '../model/errors.ts';

/**
 * Where a path is at the address that somebody wrote.
 * @param of what should be there, for people @param example an address as it should be written
 * @throws LarkspurError `config_invalid` for what is no URL of HTTP
 */
export function targetOf(url: string, path: string, of: string, example: string): URL {
  const target = URL.canParse(path, url) ? new URL(path, url) : undefined;
  if (target !== undefined && ['http:', 'https:'].includes(target.protocol)) return target;
  throw new LarkspurError('config_invalid', `--url "${url}" is no address of ${of}`, {
    cure: `write it like ${example}`,
  });
}
