import fc from 'fast-check';
import { map, type Observable } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { openEmbedded } from '../../../../src/adapters/embedded/embedded.ts';
import type {
  Cancelled,
  Claim,
  ClaimReply,
  ClaimRequest,
  ClaimStore,
  ClaimView,
  Finish,
} from '../../../../src/ports/claim-store.ts';
import { keepsToTheTable, type ModelledClaim } from '../../../support/claims/claim-model.ts';
import { noLogger } from '../../../support/silent.ts';
import { VirtualTime } from '../../../support/virtual-time.ts';

/** Passes everything on; a mutant changes one thing. */
class Through implements ClaimStore {
  readonly inner: ClaimStore;
  lastFence = 0;

  constructor(inner: ClaimStore) {
    this.inner = inner;
  }

  claim(request: ClaimRequest): Observable<ClaimReply> {
    return this.inner.claim(request).pipe(
      map((reply) => {
        if (reply.kind === 'granted') this.lastFence = reply.fence;
        return reply;
      }),
    );
  }

  extend(claims: readonly Claim[], leaseMs: number): Observable<readonly boolean[]> {
    return this.inner.extend(claims, leaseMs);
  }

  finish(finish: Finish): Observable<boolean> {
    return this.inner.finish(finish);
  }

  view(id: string): Observable<ClaimView> {
    return this.inner.view(id);
  }

  cancel(id: string, ttlMs: number): Observable<Cancelled> {
    return this.inner.cancel(id, ttlMs);
  }

  ready(): boolean {
    return this.inner.ready();
  }
}

const grant = (fence: number): ClaimReply => ({ kind: 'granted', fence, firstSentAgoMs: undefined, takeovers: 0 });

const mutants: Record<string, (inner: ClaimStore) => ClaimStore> = {
  'lets a superseded owner finish': (inner) =>
    new (class extends Through {
      override finish(finish: Finish): Observable<boolean> {
        return super.finish({ ...finish, claim: { ...finish.claim, fence: this.lastFence } });
      }
    })(inner),
  'grants while a lease is running': (inner) =>
    new (class extends Through {
      override claim(request: ClaimRequest): Observable<ClaimReply> {
        return super
          .claim(request)
          .pipe(map((reply) => (reply.kind === 'pending' ? grant(this.lastFence + 1) : reply)));
      }
    })(inner),
  'opens a processed claim again': (inner) =>
    new (class extends Through {
      override claim(request: ClaimRequest): Observable<ClaimReply> {
        return super
          .claim(request)
          .pipe(map((reply) => (reply.kind === 'processed' ? grant(this.lastFence + 1) : reply)));
      }
    })(inner),
  'gives a fence out twice': (inner) =>
    new (class extends Through {
      override claim(request: ClaimRequest): Observable<ClaimReply> {
        const before = this.lastFence;
        return super
          .claim(request)
          .pipe(
            map((reply) => (reply.kind === 'granted' && reply.takeovers > 0 ? { ...reply, fence: before } : reply)),
          );
      }
    })(inner),
  'forgets that bytes may have left': (inner) =>
    new (class extends Through {
      override claim(request: ClaimRequest): Observable<ClaimReply> {
        return super.claim({ ...request, sent: false });
      }
    })(inner),
  'ignores extensions': (inner) =>
    new (class extends Through {
      override extend(claims: readonly Claim[], leaseMs: number): Observable<readonly boolean[]> {
        return super.extend(claims, leaseMs - 1);
      }
    })(inner),
  'is a millisecond late': (inner) =>
    new (class extends Through {
      override claim(request: ClaimRequest): Observable<ClaimReply> {
        return super.claim({ ...request, leaseMs: request.leaseMs + 1 });
      }
    })(inner),
};

function histories(wrap: (inner: ClaimStore) => ClaimStore): fc.IAsyncPropertyWithHooks<[unknown[]]> {
  return keepsToTheTable((): ModelledClaim => {
    const time = new VirtualTime();
    const embedded = openEmbedded({ data: 'memory', clock: time, timers: time, logger: noLogger, topics: [] });
    const advance = (ms: number): Promise<void> => {
      time.advance(ms);
      return Promise.resolve();
    };
    return { store: wrap(embedded.claims), id: 'call', advance };
  });
}

describe('the property that watches claim stores', () => {
  it('passes one that changes nothing', async () => {
    await fc.assert(
      histories((inner) => new Through(inner)),
      { numRuns: 300, seed: 11 },
    );
  });

  it.each(Object.entries(mutants))('catches one that %s', async (_, mutant) => {
    expect((await fc.check(histories(mutant), { numRuns: 300, seed: 11 })).failed).toBe(true);
  });
});
