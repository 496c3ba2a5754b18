import type { JobData, JobHandler, Queues } from '../../../src/runtime/queue/queues.ts';

export interface Wake {
  readonly data: JobData;
  readonly jobId: string | undefined;
  readonly delayMs: number;
}

/** Queues that only note what was asked for; a test runs the jobs itself. */
export class ManualQueues implements Queues {
  readonly backend = 'postgres';
  wakes: Wake[] = [];
  schedules: { key: string; everyMs: number; jitter: number }[] = [];
  handlers = new Map<string, JobHandler>();
  failing = false;
  readonly #waiting = new Map<string, (() => void)[]>();

  wake(_queue: string, data: JobData, options: { jobId?: string; delayMs?: number } = {}): Promise<void> {
    if (this.failing) return Promise.reject(new Error('the store is away'));
    this.wakes.push({ data, jobId: options.jobId, delayMs: options.delayMs ?? 0 });
    return Promise.resolve();
  }

  schedule(
    _queue: string,
    key: string,
    _data: JobData,
    options: { everyMs: number; jitter: number },
  ): Promise<void> {
    this.schedules.push({ key, ...options });
    for (const tell of this.#waiting.get(key) ?? []) tell();
    return Promise.resolve();
  }

  /** Resolves when a schedule of this key was declared. */
  async scheduled(key: string): Promise<void> {
    if (this.schedules.some((schedule) => schedule.key === key)) return;
    await new Promise<void>((tell) => this.#waiting.set(key, [...(this.#waiting.get(key) ?? []), tell]));
  }

  unschedule(_queue: string, key: string): Promise<void> {
    this.schedules = this.schedules.filter((schedule) => schedule.key !== key);
    return Promise.resolve();
  }

  work(queue: string, handler: JobHandler): void {
    this.handlers.set(queue, handler);
  }

  /** Does one job of this queue. */
  async run(queue: string, data: JobData): Promise<void> {
    await this.handlers.get(queue)?.(data, new AbortController().signal);
  }

  ping(): Promise<void> {
    return this.failing ? Promise.reject(new Error('the store is away')) : Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
