import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  ACCOUNT_CHECKS,
  PLAIN_CHECKS,
  SERVICE_CHECKS,
  STORE_CHECKS,
  WORK_CHECKS,
} from '../../../src/connector/doctor/check-order.ts';
import { judgeServer } from '../../../src/connector/doctor/checks/redis.ts';
import { HEALTH } from '../../../src/connector/state/health.ts';
import { readProjectFile } from '../../support/markdown.ts';

/** Checks that precede those of the lists: they decide whether the others can run. */
const FIRST = ['settings', 'database', 'migrations'];
const CHECKS = [...STORE_CHECKS, ...PLAIN_CHECKS, ...WORK_CHECKS, ...SERVICE_CHECKS, ...ACCOUNT_CHECKS];
const IDS = ['service', ...CHECKS.map(({ id }) => id)];
/** They are rows of the table of figures. */
const OF_FIGURES = HEALTH.flatMap(({ check }) => check ?? []);

describe('the checks of the doctor', () => {
  it('have one file each, named after the id, unless they only compare figures', () => {
    const files = readdirSync('src/connector/doctor/checks').map((name) => name.replace(/\.ts$/, ''));
    expect([...files, ...new Set(OF_FIGURES)].sort()).toEqual([...IDS].sort());
  });

  it('each have a symptom in docs/operations.md, which lists no others', () => {
    const rows = readProjectFile('docs/operations.md').matchAll(/^\| [^|`]+ \| ((?:`[a-z-]+`(?:, )?)+) \|/gm);
    const named = [...rows].flatMap(([, list = '']) =>
      [...list.matchAll(/`([a-z-]+)`/g)].map(([, id]) => id),
    );
    expect([...new Set(named)].sort()).toEqual([...FIRST, ...IDS].sort());
  });
});

it.each([
  ['4.0.14', 'problem: Redis 4.0.14 is too old: 5.0 or newer is required.'],
  ['5.0.0', 'ok: Redis answers and evicts nothing.'],
  ['7.0.1', 'ok: Redis answers and evicts nothing.'],
])('Redis %s is judged by its version', (version, expected) => {
  const memory = { policy: 'noeviction', usedBytes: 0, maxBytes: 0 };
  const { verdict, says } = judgeServer({ hosts: 'a', version, isReplica: false, ...memory });
  expect(`${verdict}: ${says}`).toBe(expected);
});
