import { hostname, userInfo } from 'node:os';

/** Who gives an order, as `user@host`. @param user asks the system for the user, and throws where that has no name */
export function whoAsks(user: () => { readonly username: string } = userInfo): string {
  return `${nameOf(user)}@${hostname()}`;
}

function nameOf(user: () => { readonly username: string }): string {
  try {
    return user().username;
  } catch {
    // In a container the user often has a number and no name.
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
}
