import type { Links } from '../link/links.ts';
import type { Sandbox } from '../sandbox-api.ts';

import { cardAction, challengeBody } from './bodies.ts';
import { Courier, type CourierWorld } from './courier.ts';
import { sendTraffic } from './traffic.ts';

/** The sandbox's way to send events, challenges and callbacks. */
export function eventSender(
  world: CourierWorld,
  links: Links,
): Pick<Sandbox, 'pressButton' | 'sendChallenge' | 'sendEvents'> {
  const word = () => Math.floor(world.random.next() * 2 ** 32).toString(36);
  let presses = 0;
  const once = async <T>(use: (courier: Courier) => Promise<T>): Promise<T> => {
    const courier = new Courier(world, 1, links);
    try {
      return await use(courier);
    } finally {
      await courier.close();
    }
  };
  return {
    sendEvents: (plan) => sendTraffic(plan, world, undefined, links),
    sendChallenge: (target, door = 'events') =>
      once(async (courier) => {
        const challenge = word();
        const answer = await courier.deliver(target, door, challengeBody(target, challenge), false);
        return {
          ...answer,
          proved: answer.status === 200 && answer.ms < 1_000 && challengeIn(answer.body) === challenge,
        };
      }),
    pressButton: (target, chat, value) =>
      once((courier) => {
        const seed = { n: presses++, subject: chat, wallMs: world.clock.wall(), salt: word() };
        return courier.deliver(target, 'callbacks', cardAction(target, seed, value).body);
      }),
  };
}

function challengeIn(body: string): unknown {
  try {
    return (JSON.parse(body) as { readonly challenge?: unknown } | null)?.challenge;
  } catch {
    return undefined;
  }
}
