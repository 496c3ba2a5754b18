import { beforeEach, describe, expect, it } from 'vitest';
import {
  createSupervisor,
  type ProcessEnd,
  type SupervisedProcess,
  type Supervisor,
} from '../../../src/runtime/supervisor/supervisor.ts';
import { logTo } from '../../support/log-to.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const DRAIN_MS = 15_000;

/** A process that a test controls. It exits with 0 when asked to, unless it is deaf. */
class FakeProcess implements SupervisedProcess {
  readonly number: number;
  readonly pid: number;
  readonly report: (what: string) => void;
  readonly #ready = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<ProcessEnd>();
  readonly ready = this.#ready.promise;
  readonly ended = this.#ended.promise;
  deaf = false;
  why: string | undefined;

  constructor(number: number, pid: number, report: (what: string) => void) {
    this.number = number;
    this.pid = pid;
    this.report = report;
  }

  serve(): void {
    this.report(`${this.pid} serves as ${this.number}`);
    this.#ready.resolve();
  }

  end(how: ProcessEnd): void {
    this.report(`${this.pid} ends with ${how}`);
    this.#ended.resolve(how);
  }

  failure(): string | undefined {
    return this.why;
  }

  drain(): void {
    this.report(`${this.pid} is asked to end`);
    if (!this.deaf) this.end(0);
  }

  kill(): void {
    this.report(`${this.pid} is killed`);
    this.#ended.resolve('SIGKILL');
  }
}

let clock: ManualClock;
let story: string[];
let lines: string[];
let processes: FakeProcess[];
/** What a process does after it is launched. */
let birth: (born: FakeProcess) => void;

beforeEach(() => {
  clock = new ManualClock();
  story = [];
  lines = [];
  processes = [];
  birth = (born) => born.serve();
});

function supervise(count: number): Supervisor {
  const logger = logTo('info', (line) => lines.push(line));
  const launch = (number: number): SupervisedProcess => {
    const born = new FakeProcess(number, processes.length + 1, (what) => story.push(what));
    processes.push(born);
    birth(born);
    return born;
  };
  return createSupervisor({ count, launch, drainMs: DRAIN_MS, clock, logger });
}

async function started(count: number): Promise<Supervisor> {
  const supervisor = supervise(count);
  await supervisor.start();
  return supervisor;
}

/** The `nth` process that was launched, from 1. */
function launched(nth: number): FakeProcess {
  const found = processes[nth - 1];
  if (found === undefined) throw new Error(`${processes.length} processes were launched, not ${nth}`);
  return found;
}

describe('a start', () => {
  it('starts the first process alone, then the others', async () => {
    birth = () => undefined;
    const started = supervise(3).start();
    expect(processes).toHaveLength(1);
    launched(1).serve();
    await clock.advance(0);
    expect(processes.map(({ number }) => number)).toEqual([1, 2, 3]);
    launched(3).serve();
    launched(2).serve();
    await started;
  });

  it('fails if the first process fails, and starts no other', async () => {
    birth = (born) => born.end(1);
    await expect(supervise(3).start()).rejects.toThrow(
      'process 1 ended with exit code 1 before it was ready',
    );
    expect(processes).toHaveLength(1);
  });

  it('reports why the first process cannot serve', async () => {
    birth = (born) => {
      born.why = 'SERVICE_API_KEY is refused by the service.';
      born.end(2);
    };
    await expect(supervise(3).start()).rejects.toThrow(
      'process 1 ended with exit code 2 before it was ready: SERVICE_API_KEY is refused by the service.',
    );
  });

  it('gives up on a process that does not become ready', async () => {
    birth = () => undefined;
    const started = supervise(1).start();
    started.catch(() => undefined);
    await clock.advance(120_000);
    await expect(started).rejects.toThrow('process 1 was not serving within 120 s');
    expect(story).toEqual(['1 is killed']);
  });
});

describe('a roll-out', () => {
  it('replaces processes one by one, and stops each only after its successor serves', async () => {
    const supervisor = await started(2);
    story.length = 0;
    expect(await supervisor.roll()).toBe(true);
    expect(story).toEqual([
      '3 serves as 1',
      '1 is asked to end',
      '1 ends with 0',
      '4 serves as 2',
      '2 is asked to end',
      '2 ends with 0',
    ]);
    expect(lines.join('')).not.toContain('"level":"error"');
  });

  it('stops at a process that does not become ready, and keeps those that serve', async () => {
    const supervisor = await started(2);
    story.length = 0;
    birth = (born) => born.end(2);
    expect(await supervisor.roll()).toBe(false);
    expect(story).toEqual(['3 ends with 2', '3 is killed']);
    expect(lines.join('')).toContain('process 1 ended with exit code 2 before it was ready');
    await clock.advance(600_000);
    expect(processes).toHaveLength(3);
  });

  it('can be requested again after one that stopped', async () => {
    const supervisor = await started(1);
    birth = (born) => born.end(2);
    expect(await supervisor.roll()).toBe(false);
    birth = (born) => born.serve();
    expect(await supervisor.roll()).toBe(true);
  });

  it('is followed by one more for all requests during it', async () => {
    const supervisor = await started(1);
    birth = () => undefined;
    const first = supervisor.roll();
    await clock.advance(0);
    const [second, third] = [supervisor.roll(), supervisor.roll()];
    launched(2).serve();
    await first;
    await clock.advance(0);
    expect(processes).toHaveLength(3);
    launched(3).serve();
    expect(await Promise.all([second, third])).toEqual([true, true]);
    await clock.advance(0);
    expect(processes).toHaveLength(3);
  });

  it('waits for the start', async () => {
    birth = () => undefined;
    const supervisor = supervise(1);
    const started = supervisor.start();
    const rolled = supervisor.roll();
    await clock.advance(0);
    expect(processes).toHaveLength(1);
    birth = (born) => born.serve();
    launched(1).serve();
    await started;
    expect(await rolled).toBe(true);
    expect(processes).toHaveLength(2);
  });

  it('kills a predecessor that does not exit in time, and continues', async () => {
    const supervisor = await started(2);
    launched(1).deaf = true;
    const rolled = supervisor.roll();
    await clock.advance(DRAIN_MS);
    expect(await rolled).toBe(true);
    expect(story).toContain('1 is killed');
    expect(lines.join('')).toContain('a process did not exit in time and was killed');
  });

  it('starts only one replacement if a predecessor crashes while its successor starts', async () => {
    const supervisor = await started(1);
    birth = () => undefined;
    const rolled = supervisor.roll();
    await clock.advance(0);
    launched(1).end('SIGKILL');
    await clock.advance(0);
    launched(2).serve();
    expect(await rolled).toBe(true);
    await clock.advance(600_000);
    expect(processes).toHaveLength(2);
  });

  it('replaces a process that waits for its next restart, and starts counting its exits again', async () => {
    const supervisor = await started(1);
    birth = (born) => born.end(1);
    launched(1).end(1);
    await clock.advance(0);
    birth = (born) => born.serve();
    expect(await supervisor.roll()).toBe(true);
    launched(3).end(1);
    await clock.advance(0);
    expect(story.at(-1)).toBe('4 serves as 1');
    const count = processes.length;
    await clock.advance(600_000);
    expect(processes).toHaveLength(count);
  });
});

describe('a process that exits by itself', () => {
  it('is replaced at once', async () => {
    await started(2);
    launched(2).end('SIGSEGV');
    await clock.advance(0);
    expect(story.at(-1)).toBe('3 serves as 2');
    expect(lines.join('')).toContain('"process":2,"pid":2,"outcome":"SIGSEGV"');
  });

  it('is replaced even if it exited with 0, unasked', async () => {
    await started(1);
    launched(1).end(0);
    await clock.advance(0);
    expect(story.at(-1)).toBe('2 serves as 1');
  });

  it.each([
    ['before it serves', false],
    ['as soon as it serves', true],
  ])(
    '%s is restarted after 0, 1, 2, 4, 8, 16, 30, 30 s, and the third failure is reported as a crash loop',
    async (_, serves) => {
      await started(1);
      const born: number[] = [];
      birth = (each) => {
        born.push(clock.elapsed());
        if (serves) each.serve();
        each.end(1);
      };
      launched(1).end(1);
      for (let second = 0; second < 92; second += 1) await clock.advance(1_000);
      expect(born).toEqual([0, 1_000, 3_000, 7_000, 15_000, 31_000, 61_000, 91_000]);
      const loops = lines.filter((line) => line.includes('crash loop'));
      expect(loops).toHaveLength(7);
      expect(loops[0]).toContain('"process":1,"failed":3,"delayMs":2000');
    },
  );

  it('counts as healthy again after a minute', async () => {
    await started(1);
    for (let crash = 1; crash < 6; crash += 1) {
      await clock.advance(60_000);
      launched(crash).end(1);
      await clock.advance(0);
      expect(processes).toHaveLength(crash + 1);
    }
    expect(lines.join('')).not.toContain('crash loop');
  });
});

describe('a stop', () => {
  it('asks all processes at once to exit, not those that have crashed, and starts no more', async () => {
    const supervisor = await started(2);
    launched(1).end(1);
    await clock.advance(0);
    story.length = 0;
    expect(await supervisor.stop()).toBe(true);
    expect(story).toEqual(['2 is asked to end', '2 ends with 0', '3 is asked to end', '3 ends with 0']);
    await clock.advance(600_000);
    expect(processes).toHaveLength(3);
  });

  it('reports a process that did not exit with 0', async () => {
    const supervisor = await started(1);
    launched(1).deaf = true;
    const stopped = supervisor.stop();
    launched(1).end(1);
    expect(await stopped).toBe(false);
  });

  it('kills a process that does not exit in time', async () => {
    const supervisor = await started(1);
    launched(1).deaf = true;
    const stopped = supervisor.stop();
    await clock.advance(DRAIN_MS);
    expect(await stopped).toBe(false);
    expect(story.at(-1)).toBe('1 is killed');
  });

  it('ends a roll-out with the process that it has started, whose exit is no failure', async () => {
    const supervisor = await started(2);
    birth = (born) => {
      born.deaf = true;
    };
    const rolled = supervisor.roll();
    await clock.advance(0);
    const stopped = supervisor.stop();
    launched(3).end('SIGTERM');
    expect(await stopped).toBe(true);
    expect(await rolled).toBe(false);
    expect(processes).toHaveLength(3);
    expect(lines.join('')).not.toContain('"level":"error"');
  });
});
