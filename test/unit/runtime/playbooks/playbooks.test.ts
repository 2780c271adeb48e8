import { describe, expect, it } from 'vitest';

import { LarkspurError } from '../../../../src/model/errors.ts';
import { playbookOf, PlayWorld } from '../../../support/play-world.ts';

const light = (more = '') => `
name: light
when: { metric: value, below: 75, forMs: 0, clearForMs: 5000 }
coolDownMs: 600000
then:
  - disturb: { rules: [{ kind: latency, delayMs: 50, rate: 0.01, match: { upstream: news } }], forMs: 60000 }${more}
`;
const isolate = playbookOf(`
name: isolate-news
when: { metric: value, above: 0.5, forMs: 3000, clear: 0.4, clearForMs: 5000 }
coolDownMs: 60000
then:
  - isolate: news
  - config: { upstreams.news.concurrency: 2 }
`);

describe('playbooks', () => {
  it('S000-86: a score of 74 runs the configured disturbance once, as a rehearsal unless it says otherwise', async () => {
    const rehearsed = new PlayWorld([playbookOf(light())]);
    await rehearsed.run(60, 75);
    expect(rehearsed.audit).toEqual([]);
    await rehearsed.run(3_600, 74);
    expect(rehearsed.did).toEqual([]);
    expect(rehearsed.audit).toMatchObject([
      {
        ...{ by: 'playbook light', what: 'playbook/light', reason: 'value < 75' },
        to: { state: 'ran', dryRun: true, value: 74, steps: [{ outcome: 'dry-run' }] },
      },
    ]);

    const real = new PlayWorld([playbookOf(light('\n    dryRun: false'))]);
    await real.run(60, 75);
    await real.run(3_600, 74);
    expect(real.did).toEqual([
      'disturb [{"kind":"latency","delayMs":50,"rate":0.01,"match":{"upstream":"news"}}] for 60000',
    ]);
    // It says the same in both cases.
    const said = (world: PlayWorld) =>
      (world.audit[0]?.to as { steps: { step: string }[] }).steps.map(({ step }) => step);
    expect(said(real)).toEqual(said(rehearsed));
  });

  it('take their steps when it begins, take them back in reverse when it is over, and audit tells both', async () => {
    const world = new PlayWorld([isolate]);
    await world.run(10, 0.9);
    expect(world.did).toEqual(['isolate news', '{"upstreams.news.concurrency":2}']);
    await world.run(20, 0.1);
    expect(world.did.slice(2)).toEqual(['not {"upstreams.news.concurrency":2}', 'not isolate news']);
    expect(world.audit).toMatchObject([
      {
        by: 'playbook isolate-news',
        from: 'idle',
        to: { state: 'ran', steps: [{ outcome: 'done' }, { outcome: 'done' }] },
      },
      { from: 'ran', to: { state: 'over', steps: [{ outcome: 'undone' }, { outcome: 'undone' }] } },
    ]);
    expect(world.audit.every(({ reason }) => reason === 'value > 0.5 for 3 s')).toBe(true);
  });

  it('leave what they changed where they say so', async () => {
    const world = new PlayWorld([{ ...isolate, undo: false }]);
    await world.run(10, 0.9);
    await world.run(20, 0.1);
    expect(world.did).toEqual(['isolate news', '{"upstreams.news.concurrency":2}']);
    expect(world.audit.at(-1)).toMatchObject({ to: { state: 'over', steps: [] } });
  });

  it('go on after a step that fails, say why, and undo only what was done', async () => {
    const hands = {
      isolate: () => {
        throw new LarkspurError('not_found', 'news has no breaker: it is configured off');
      },
    };
    const world = new PlayWorld([isolate], hands);
    await world.run(10, 0.9);
    expect(world.audit).toMatchObject([
      {
        to: {
          steps: [{ outcome: 'failed', detail: 'news has no breaker: it is configured off' }, { outcome: 'done' }],
        },
      },
    ]);
    await world.run(20, 0.1);
    expect(world.did).toEqual(['{"upstreams.news.concurrency":2}', 'not {"upstreams.news.concurrency":2}']);
    expect(await world.metrics.text()).toContain(
      'larkspur_playbook_runs_total{playbook="isolate-news",outcome="failed"} 1',
    );
  });

  it('do outside of the process only once, however many workers see a reason for it', async () => {
    const world = new PlayWorld([playbookOf(light('\n    dryRun: false'))], {}, 3);
    await world.run(60, 74);
    expect(world.did).toHaveLength(1);
    const outcomes = world.audit.map(({ to }) => (to as { steps: { outcome: string }[] }).steps[0]?.outcome);
    expect(outcomes.sort()).toEqual(['another worker', 'another worker', 'done']);
  });

  it('try a step again that failed, with more rest between each, until one worker has done it', async () => {
    let asked = 0;
    const hands = {
      disturb: () =>
        ++asked < 3 ? Promise.reject(new Error('out of reach')) : Promise.resolve(() => Promise.resolve()),
    };
    const world = new PlayWorld([playbookOf(light('\n    dryRun: false'))], hands);
    await world.run(4, 74);
    expect(asked).toBe(1);
    await world.run(60, 74);
    expect(asked).toBe(3);
    const outcomes = world.audit.map(({ to }) => (to as { steps: { outcome: string }[] }).steps[0]?.outcome);
    expect(outcomes).toEqual(['failed', 'done']);
    expect(world.playbooks[0]?.views()[0]?.last).toMatchObject({ state: 'again', steps: [{ outcome: 'done' }] });
  });

  it('try a step no more than five times, and not when it is over', async () => {
    let asked = 0;
    const hands = { disturb: () => Promise.reject(new Error(`out of reach ${++asked > 0 ? '' : '!'}`)) };
    const world = new PlayWorld([playbookOf(light('\n    dryRun: false'))], hands);
    await world.run(600, 74);
    expect(asked).toBe(5);
    const short = new PlayWorld([playbookOf(light('\n    dryRun: false'))], hands);
    await short.run(1, 74);
    await short.run(60, 90);
    expect(asked).toBeLessThan(8);
  });

  it('do not repeat what may have reached somebody', async () => {
    let asked = 0;
    const hands = {
      disturb: () => {
        asked++;
        return Promise.reject(new LarkspurError('no_answer', 'the bot did not answer'));
      },
    };
    const world = new PlayWorld([playbookOf(light('\n    dryRun: false'))], hands, 3);
    await world.run(300, 74);
    expect(asked).toBe(1);
  });

  it('are taken over from a worker that ended in the midst of a step', async () => {
    let asked = 0;
    const hands = {
      disturb: () => {
        asked++;
        // The first one never ends, as in a process that is gone.
        return asked === 1 ? new Promise<never>(() => undefined) : Promise.resolve(() => Promise.resolve());
      },
    };
    const world = new PlayWorld([playbookOf(light('\n    dryRun: false'))], hands, 2);
    await world.run(200, 74);
    expect(asked).toBe(2);
  });

  it.each([1, 3])(
    'take their steps each time that they begin, also soon after the end: %i workers',
    async (workers) => {
      const soon = light('\n    dryRun: false').replace('coolDownMs: 600000', 'coolDownMs: 2000');
      const world = new PlayWorld([playbookOf(soon)], {}, workers);
      for (let times = 1; times <= 4; times++) {
        await world.run(3, 74);
        expect(world.did.filter((did) => did.startsWith('disturb'))).toHaveLength(times);
        await world.run(8, 90);
        expect(world.did.filter((did) => did.startsWith('not '))).toHaveLength(times);
      }
    },
  );

  it('are rehearsed and ended by a person, under the name of that person', async () => {
    const world = new PlayWorld([isolate]);
    const [playbooks] = world.playbooks;
    void playbooks?.rehearse('isolate-news', { by: 'ana', reason: 'a drill', requestId: 'r-1' });
    await world.run(1, 0);
    expect(world.did).toEqual([]);
    expect(world.audit).toMatchObject([
      { by: 'ana', reason: 'a drill', requestId: 'r-1', to: { state: 'ran', dryRun: true } },
    ]);
    await world.run(10, 0.9);
    void playbooks?.end('isolate-news', { by: 'ben' });
    await world.run(30, 0.9);
    expect(world.did).toEqual([
      ...['isolate news', '{"upstreams.news.concurrency":2}'],
      ...['not {"upstreams.news.concurrency":2}', 'not isolate news'],
    ]);
    expect(world.audit.at(-1)).toMatchObject({ by: 'ben', to: { state: 'over' } });
    expect(playbooks?.views()).toMatchObject([{ name: 'isolate-news', state: 'cooling', when: 'value > 0.5 for 3 s' }]);
    expect(playbooks?.end('gone', { by: 'ben' })).toBeUndefined();
    expect(playbooks?.rehearse('gone', { by: 'ben' })).toBeUndefined();
  });

  it('that look at a metric that is not there are named in the log', () => {
    const world = new PlayWorld([{ ...isolate, measure: { ...isolate.measure, metric: 'valeu' } }, isolate]);
    const named = world.log.lines.filter(({ message }) => message.includes('does not have'));
    expect(named).toMatchObject([{ level: 'warn', fields: { playbook: 'isolate-news', unknown: ['valeu'] } }]);
  });
});
