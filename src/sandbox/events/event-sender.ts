import type { Links } from '../link/links.ts';
import type { Sandbox } from '../sandbox-api.ts';
import type { World } from '../world.ts';

import { cardAction, challengeBody, revokedBody, ticketBody } from './bodies.ts';
import { type Answered, Courier, type CourierWorld } from './courier.ts';
import { sendTraffic } from './traffic.ts';

/** The sandbox's way to send events, challenges and callbacks. */
export function eventSender(
  world: CourierWorld,
  links: Links,
  { consents, storeApps }: Pick<World, 'consents' | 'storeApps'>,
): Pick<Sandbox, 'pressButton' | 'revokeConsent' | 'sendChallenge' | 'sendEvents' | 'sendTicket'> {
  const word = () => Math.floor(world.random.next() * 2 ** 32).toString(36);
  let made = 0;
  const seed = (subject: string) => ({ n: made++, subject, wallMs: world.clock.wall(), salt: word() });
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
        return courier.deliver(target, 'callbacks', cardAction(target, seed(chat), value).body);
      }),
    sendTicket: (target) => {
      const send = (): Promise<Answered> =>
        once((courier) => courier.deliver(target, 'events', ticketBody(target, ticket, seed('ticket'))));
      const ticket = storeApps.newTicket(target.app, () => void send());
      return send();
    },
    revokeConsent: (target, openId) =>
      once((courier) => {
        consents.revoke(target.app, openId);
        return courier.deliver(target, 'events', revokedBody(target, openId, seed(openId)));
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
