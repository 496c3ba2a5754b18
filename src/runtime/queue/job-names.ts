import type { JobData } from './queues.ts';

const QUEUE_NAME = /^[a-z0-9-]{1,80}$/;
const LONGEST_VALUE = 255;
const MOST_VALUES = 16;

/** BullMQ separates its keys by colons, so none may stand in a name. */
export function escapeColons(text: string): string {
  return text.replaceAll('%', '%25').replaceAll(':', '%3A');
}

/** The name of a queue in the store. @throws {TypeError} for a name that a store cannot hold. */
export function storedName(prefix: string, queue: string): string {
  const name = `${prefix}-${queue}`;
  if (!QUEUE_NAME.test(name)) throw new TypeError(`A queue's name is made of a-z, 0-9 and -, not '${name}'.`);
  return name;
}

/** Refuses what no wake-up call needs. @throws {TypeError} */
export function checkJobData(data: JobData): void {
  const values = Object.values(data);
  if (values.length > MOST_VALUES) throw new TypeError(`A job carries at most ${MOST_VALUES} values.`);
  for (const value of values) {
    if (typeof value === 'string' && value.length > LONGEST_VALUE) {
      throw new TypeError(`A job carries ids, not texts: at most ${LONGEST_VALUE} characters.`);
    }
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
      throw new TypeError('A job carries strings, numbers and booleans only.');
    }
  }
}
