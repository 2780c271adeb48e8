import type { Destination } from '../../../src/pipeline/destination.ts';
import type { House } from '../../../src/pipeline/house.ts';
import type { ClaimStore } from '../../../src/ports/claim-store.ts';
import type { ParkedRegister } from '../../../src/ports/parked-register.ts';
import type { RecordSink } from '../../../src/ports/record-sink.ts';
import type { RecordSource } from '../../../src/ports/record-source.ts';
import type { Process } from '../world/process.ts';
import type { World } from '../world/world.ts';

/** The ports through which a house meets its world. */
export interface Ports {
  readonly source: RecordSource;
  readonly sink: RecordSink;
  readonly claims: ClaimStore;
  readonly parked: ParkedRegister;
}

/** A bug on purpose, put between the parts of a house. The simulation must find it. */
export interface Mutant {
  readonly name: string;
  /** No world with a smaller seed shows it, as far as is known: the test saves the time to look. Default 0. */
  readonly from?: number;
  readonly ports?: (ports: Ports, process: Process) => Ports;
  readonly destination?: (destination: Destination, world: World) => Destination;
  readonly house?: (house: House, process: Process) => void;
}
