import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/** What a module of the user is loaded by. @param path from the working directory, or absolute */
export function moduleUrl(path: string): string {
  return pathToFileURL(resolve(path)).href;
}
