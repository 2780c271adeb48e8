import type { Mutant } from './mutant.ts';

/** Bugs in who goes when. */
export const laneMutants: readonly Mutant[] = [
  {
    name: 'loses the wake-up of calls that wait for a slot',
    house: ({ lanes }) => {
      const wake = lanes.wake.bind(lanes);
      lanes.wake = (room) => {
        if (!room.startsWith('slots:') && !room.startsWith('bucket:')) wake(room);
      };
    },
  },
  {
    name: 'lets the next call of a key go while one waits for its retry',
    house: ({ turns, lanes, timers, clock }) => {
      turns.back = (job, turn, notBeforeMs) => {
        turns.end(job, turn);
        const { partition } = job.received;
        timers.after(Math.max(0, notBeforeMs - clock.now()), () => {
          if (!lanes.hasRoom) return;
          lanes.add(job, { lane: undefined, owner: partition, priority: 'normal', tenant: '', cost: 1 });
        });
      };
    },
  },
  {
    name: 'forgets the places of calls that go back to their lane',
    house: ({ turns }) => {
      turns.back = (job, turn, notBeforeMs) => {
        job.underWay = false;
        turn.again(notBeforeMs);
      };
    },
  },
  {
    name: 'lets the next call of a key go while one waits outside',
    house: ({ lines }) => {
      lines.ahead = () => undefined;
    },
  },
  {
    name: 'never tells the register that a call has come back and ended',
    house: ({ lines }) => {
      lines.unpark = () => undefined;
    },
  },
];
