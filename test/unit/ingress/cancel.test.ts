import { of } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { MemoryCancelBus } from '../../../src/adapters/embedded/cancel-bus.ts';
import type { CancelBus } from '../../../src/ports/cancel-bus.ts';

import { api } from './calls-world.ts';

describe('DELETE /v1/calls/{id}', () => {
  it('has the store remember it and tells the workers, and says where the result will be', () => {
    const cancels = new MemoryCancelBus();
    const heard: string[] = [];
    cancels.onCancel((id) => heard.push(id));
    const result = '/v1/results/a%2F1';
    expect(api({ cancels, cancel: 'kept' }).cancel('a/1')).toMatchObject([
      { status: 202, body: { id: 'a/1', status: 'cancelled', result } },
    ]);
    expect(api({ cancels, cancel: 'told' }).cancel('a/1')).toMatchObject([
      { status: 202, body: { id: 'a/1', status: 'cancelling', result } },
    ]);
    expect(heard).toEqual(['a/1', 'a/1']);
  });

  it('says 409 about a call that has ended, and tells nobody', () => {
    const cancels = new MemoryCancelBus();
    cancels.onCancel(() => expect.fail('nobody is to be told'));
    expect(api({ cancels, cancel: 'ended' }).cancel('a')).toMatchObject([{ status: 409, body: { code: 'conflict' } }]);
  });

  it('says 503 when a worker has it and could not be told, and 202 when nobody had to be', () => {
    const cancels: CancelBus = { tell: () => of(false), onCancel: () => undefined };
    expect(api({ cancels, cancel: 'told' }).cancel('a')).toMatchObject([{ status: 503 }]);
    expect(api({ cancels, cancel: 'kept' }).cancel('a')).toMatchObject([
      { status: 202, body: { status: 'cancelled' } },
    ]);
  });

  it('lets a client cancel its own calls alone: whatever it names is an id of its own', () => {
    const cancels = new MemoryCancelBus();
    const heard: string[] = [];
    cancels.onCancel((id) => heard.push(id));
    for (const id of ['order-1', 'shop/order-1', 'bank/order-1']) {
      expect(api({ cancels }).cancel(id, 'shop')).toMatchObject([{ status: 202 }]);
    }
    expect(heard).toEqual(['shop/order-1', 'shop/order-1', 'shop/bank/order-1']);
  });

  it('says 503 while the store is away, and 400 about what no call can be called', () => {
    expect(api({ storeReady: false }).cancel('a')).toMatchObject([{ status: 503 }]);
    expect(api().cancel('a b')).toMatchObject([{ status: 400 }]);
  });
});
