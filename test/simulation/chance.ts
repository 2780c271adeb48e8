/** What a draw is for. */
export type Name = string | number;

/**
 * Chance by name: the same seed and names give the same number in [0, 1), whatever else was drawn before. So a schedule
 * from which one fault was taken keeps everything else as it was, which is what makes shrinking work.
 */
export function chance(seed: number, ...names: readonly Name[]): number {
  let h = (0x811c9dc5 ^ seed) >>> 0;
  for (const name of names) {
    if (typeof name === 'number') h = Math.imul(h ^ (name & 0xffff) ^ ((name >>> 16) * 0x9e37), 0x01000193);
    else for (let i = 0; i < name.length; i++) h = Math.imul(h ^ name.charCodeAt(i), 0x01000193);
    h = Math.imul(h ^ 0x2f, 0x01000193);
  }
  // The finish of murmur3: neighbouring names must not give neighbouring numbers.
  h ^= h >>> 16;
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  h ^= h >>> 16;
  return (h >>> 0) / 4_294_967_296;
}

/** A number in [low, high). */
export function between(low: number, high: number, seed: number, ...names: readonly Name[]): number {
  return low + chance(seed, ...names) * (high - low);
}
