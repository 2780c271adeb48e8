import { Recent } from './recent.ts';

const limits = [
  { limit: 5, windowMs: 1_000 },
  { limit: 100, windowMs: 60_000 },
];

/** A message that a custom bot posted. */
export interface BotPost {
  readonly bot: string;
  readonly atMs: number;
  readonly message: unknown;
}

/** What custom bots have posted, and how they are held to the platform's limits. A bot is known by the id in its address. */
export class Bots {
  readonly #posts: Recent<BotPost>;
  readonly #keep: number;
  readonly #arrivals = new Map<string, number[]>();
  /** Signing secrets by bot; a bot without one takes anything. */
  readonly secrets = new Map<string, string>();

  /** @param keep how many posts are kept */
  constructor(keep: number) {
    this.#keep = keep;
    this.#posts = new Recent(keep);
  }

  /** The latest, oldest of them first. */
  get posts(): readonly BotPost[] {
    return this.#posts.last(this.#keep);
  }

  clear(): void {
    this.#posts.clear();
    this.#arrivals.clear();
  }

  /** Whether one more is too many. */
  refuses(bot: string, nowMs: number): boolean {
    const arrivals = this.#arrivals.get(bot)?.filter((atMs) => atMs > nowMs - 60_000) ?? [];
    this.#arrivals.set(bot, arrivals);
    const full = limits.some(
      ({ limit, windowMs }) => arrivals.filter((atMs) => atMs > nowMs - windowMs).length >= limit,
    );
    if (!full) arrivals.push(nowMs);
    return full;
  }

  add(post: BotPost): void {
    this.#posts.add(post);
  }
}
