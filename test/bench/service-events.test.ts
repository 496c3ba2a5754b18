import { describe, expect, it } from 'vitest';
import { expectedRows, planEvent } from '../../bench/ingest/service-events.ts';

describe('the plan of a run', () => {
  it('is the same each time', () => {
    const plan = () => Array.from({ length: 100 }, (_, index) => planEvent(3, index));
    expect(plan()).toEqual(plan());
  });

  it('shares no message with another run', () => {
    const ids = (run: number) => Array.from({ length: 2000 }, (_, index) => planEvent(run, index).messageId);
    const other = new Set(ids(2));
    expect(ids(1).filter((id) => other.has(id))).toEqual([]);
  });

  it('moves a message from sent over delivered to read', () => {
    const events = Array.from({ length: 1000 }, (_, index) => planEvent(1, index));
    const first = events.find((event) => event.kind === 'status');
    const statuses = events.flatMap((event) =>
      event.kind === 'status' && event.messageId === first?.messageId ? [event.status] : [],
    );
    expect(statuses).toEqual(['sent', 'delivered', 'read']);
  });

  it('never tells one message twice as received', () => {
    const received = Array.from({ length: 5000 }, (_, index) => planEvent(1, index)).filter(
      ({ kind }) => kind === 'received',
    );
    expect(new Set(received.map(({ messageId }) => messageId)).size).toBe(received.length);
  });
});

describe('the rows a run must leave', () => {
  it('are none before the first event', () => {
    expect(expectedRows(1, 0)).toEqual({ messages: 0, statuses: { sent: 0, delivered: 0, read: 0 } });
  });

  it('count each message once, by its highest status', () => {
    // 5 events a block: until the 20th only `sent` is told, until the 100th `read` is not.
    expect(expectedRows(1, 5)).toEqual({ messages: 5, statuses: { sent: 1, delivered: 0, read: 0 } });
    expect(expectedRows(1, 150)).toEqual({ messages: 140, statuses: { sent: 20, delivered: 10, read: 0 } });
    expect(expectedRows(1, 525)).toEqual({ messages: 435, statuses: { sent: 20, delivered: 80, read: 5 } });
  });
});
