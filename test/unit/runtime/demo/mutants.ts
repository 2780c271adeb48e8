import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { concat, ignoreElements, map, of, throwError } from 'rxjs';

import type { DemoParts } from '../../../../src/runtime/demo/run-demo.ts';
import { openStores } from '../../../../src/runtime/open-stores.ts';
import type { Stores } from '../../../../src/runtime/stores.ts';
import type { FaultRule } from '../../../../src/sandbox/faults/fault-rule.ts';
import type { SandboxOptions } from '../../../../src/sandbox/options.ts';
import { createSandbox } from '../../../../src/sandbox/sandbox.ts';

/** A sandbox that keeps to these faults, so that a run whose faults do not matter takes a moment. */
export const sandboxWith =
  (faults: readonly FaultRule[], more: Partial<SandboxOptions> = {}): DemoParts['createSandbox'] =>
  async (options) => {
    const sandbox = await createSandbox({ ...options, ...more });
    // `url` is a getter, which a spread would read once: it is known by now.
    return { ...sandbox, setFaults: () => sandbox.setFaults(faults) };
  };

/** A platform that says yes to everything and does nothing. */
export const yesSayer: DemoParts['createSandbox'] = async (options) => {
  const sandbox = await createSandbox(options);
  const answer = { code: 0, tenant_access_token: 't', expire: 7_200, data: { message_id: 'om_1' } };
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await sandbox.close();
  };
  return { ...sandbox, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
};

/** Stores with some of their parts replaced. */
const storesWith =
  (mutant: (stores: Stores) => Partial<Stores>): DemoParts['openStores'] =>
  (config, parts) => {
    const stores = openStores(config, parts);
    return { ...stores, ...mutant(stores) };
  };

/** Acknowledges the first result and does not keep it. */
export const forgetfulSink = storesWith(({ sink }) => {
  let results = 0;
  return {
    sink: {
      flush: () => sink.flush(),
      trouble: (topic) => sink.trouble(topic),
      append: (record) =>
        record.topic === 'results' && results++ === 0
          ? of({ kind: 'written', partition: 0, offset: 0 })
          : sink.append(record),
    },
  };
});

/** Takes no result: the worker cannot go on. */
export const brokenSink = storesWith(({ sink }) => ({
  sink: {
    flush: () => sink.flush(),
    trouble: (topic) => sink.trouble(topic),
    append: (record) =>
      record.topic === 'results' ? throwError(() => new Error('the disk is gone')) : sink.append(record),
  },
}));

/** Every call stands in its topic twice, and both may be made. */
export const generousClaims = storesWith(({ sink, claims }) => {
  let fence = 1;
  return {
    sink: {
      flush: () => sink.flush(),
      trouble: (topic) => sink.trouble(topic),
      append: (record) =>
        record.topic === 'calls'
          ? concat(sink.append(record).pipe(ignoreElements()), sink.append(record))
          : sink.append(record),
    },
    claims: {
      claim: () => of({ kind: 'granted', fence: fence++, firstSentAgoMs: undefined, takeovers: 0 }),
      sent: () => of(true),
      extend: (held) => of(held.map(() => true)),
      finish: () => of(true),
      view: (id) => claims.view(id),
      cancel: (id, ttlMs) => claims.cancel(id, ttlMs),
      ready: () => true,
    },
  };
});

/** Lanes that do not see which calls belong together: the records come without their keys. */
export const keylessSource = storesWith((stores) => ({
  source: () => {
    const source = stores.source();
    return {
      clusterId: () => source.clusterId(),
      event$: source.event$.pipe(
        map((event) => (event.kind === 'record' ? { ...event, record: { ...event.record, key: null } } : event)),
      ),
      pause: (partition) => source.pause(partition),
      resume: (partition) => source.resume(partition),
      commit: (commits) => source.commit(commits),
      ready: () => source.ready(),
    };
  },
}));
