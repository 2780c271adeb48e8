import { hostname, userInfo } from 'node:os';

/** Who gives an order, as `user@host`. */
export function whoAsks(): string {
  return `${userName()}@${hostname()}`;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container the user often has a number and no name.
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
}
