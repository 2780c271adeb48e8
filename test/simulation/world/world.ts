import type { Mutant } from '../mutants/mutant.ts';
import type { Plan } from '../plan.ts';

import { Audit } from './audit.ts';
import { Canceller } from './canceller.ts';
import { ClaimServer } from './claim-server.ts';
import { Clockwork } from './clockwork.ts';
import { Group } from './group.ts';
import { ParkedServer } from './parked.ts';
import type { Process } from './process.ts';
import { QuotaServer } from './quota.ts';
import { Replica } from './replica.ts';
import { Topics } from './topics.ts';
import { Trace } from './trace.ts';
import { UpstreamServer } from './upstream.ts';
import { Weather } from './weather.ts';

/** One simulated world: broker, claims' server, upstream, and the replicas that live in it. */
export class World {
  readonly seed: number;
  readonly plan: Plan;
  readonly mutant: Mutant | undefined;
  readonly clock = new Clockwork();
  readonly trace: Trace;
  readonly weather: Weather;
  readonly topics: Topics;
  readonly group: Group;
  readonly claims: ClaimServer;
  readonly canceller: Canceller;
  readonly quota: QuotaServer;
  readonly parked: ParkedServer;
  readonly upstream: UpstreamServer;
  readonly audit: Audit;
  /** The present life of each replica. */
  readonly replicas: Replica[] = [];
  readonly #lives: number[] = [];
  readonly #revoked = new Map<string, number>();

  constructor(plan: Plan, mutant: Mutant | undefined, keepLines: boolean) {
    this.seed = plan.seed;
    this.plan = plan;
    this.mutant = mutant;
    this.trace = new Trace(keepLines);
    this.weather = new Weather(plan.faults);
    this.topics = new Topics(this);
    this.group = new Group(this);
    this.claims = new ClaimServer(this);
    this.canceller = new Canceller(this);
    this.quota = new QuotaServer(this);
    this.parked = new ParkedServer();
    this.upstream = new UpstreamServer(this);
    this.audit = new Audit(this);
  }

  note(who: string, what: string, detail: string | number = ''): void {
    this.trace.note(this.clock.now(), who, what, detail);
  }

  /** Sets everything on its way. */
  begin(): void {
    const { plan, clock } = this;
    for (const [index, call] of plan.calls.entries()) clock.at(call.atMs, () => this.topics.produce(call, index));
    for (const cancel of plan.cancels) clock.at(cancel.atMs, () => this.canceller.cancel(cancel.id));
    for (let index = 0; index < plan.sizes.replicas; index++) this.#boot(index);
    for (const fault of plan.faults) this.#arrange(fault);
  }

  /** A process dies; its successor comes after `downMs`. */
  crash(process: Process, downMs: number): void {
    const replica = this.replicas[process.replica];
    if (replica?.process !== process) return;
    replica.die();
    this.clock.in(downMs, () => this.#boot(process.replica));
  }

  /** Newest token version of a process that the upstream takes no more. */
  revokedUpTo(process: Process): number {
    return this.#revoked.get(process.name) ?? 0;
  }

  #boot(index: number): void {
    const life = this.#lives[index] ?? 0;
    this.#lives[index] = life + 1;
    const replica = new Replica(this, index, life);
    this.replicas[index] = replica;
    replica.start();
  }

  /** Each process hears it when it is not frozen; one that comes later was never told. */
  #pause({ upstream, atMs, forMs }: Extract<Plan['faults'][number], { kind: 'pause' }>): void {
    const by = `pause at ${atMs}`;
    for (const { process, house } of this.replicas) {
      process.deliver(process.draw(1, 40, by), () => {
        house.pauses.pause(upstream, by);
        process.pausedBy(upstream).add(by);
      });
      process.deliver(forMs + process.draw(1, 40, by), () => {
        process.pausedBy(upstream).delete(by);
        house.pauses.resume(upstream, by);
      });
    }
  }

  #arrange(fault: Plan['faults'][number]): void {
    const at = (run: () => void): void => {
      if ('atMs' in fault) this.clock.at(fault.atMs, run);
    };
    const told = (run: () => void): void =>
      at(() => {
        this.note('fault', fault.kind);
        run();
      });
    const replicaOf = (index: number): Replica | undefined => {
      const replica = this.replicas[index];
      return replica?.process.alive === true ? replica : undefined;
    };
    switch (fault.kind) {
      case 'crash':
        at(() => {
          const replica = replicaOf(fault.replica);
          if (replica !== undefined) this.crash(replica.process, fault.downMs);
        });
        break;
      case 'stop':
        at(() => {
          const replica = replicaOf(fault.replica);
          if (replica?.process.frozen !== false) return;
          replica.stop(() => this.clock.in(fault.downMs, () => this.#boot(fault.replica)));
        });
        break;
      case 'freeze':
        at(() => {
          const replica = replicaOf(fault.replica);
          if (replica?.process.frozen === false) replica.freeze(fault.forMs);
        });
        break;
      case 'rebalance':
        at(() => this.group.rebalance(fault.noticeMs));
        break;
      case 'claims-lose-second':
        told(() => this.claims.loseLastSecond());
        break;
      case 'claims-empty':
        told(() => {
          this.claims.loseAll();
          this.quota.loseAll();
          this.parked.loseAll();
        });
        break;
      case 'claims-clock':
        told(() => this.claims.jump(fault.byMs));
        break;
      case 'wall-clock':
        told(() => {
          const replica = replicaOf(fault.replica);
          if (replica !== undefined) replica.process.wallSkewMs += fault.byMs;
        });
        break;
      case 'token':
        told(() => {
          for (const { process, tokens } of this.replicas) this.#revoked.set(process.name, tokens.version);
        });
        break;
      case 'pause':
        told(() => this.#pause(fault));
        break;
      case 'crash-at':
      case 'claims-away':
      case 'claims-lossy':
      case 'produce':
      case 'commits':
      case 'upstream':
        // Looked up where they strike.
        break;
    }
  }
}
