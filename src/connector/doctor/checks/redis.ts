import type { RedisState } from '../../../runtime/notifier/inspect-redis.ts';
import { isRedisRefusal } from '../../../runtime/notifier/notifier.ts';
import type { CheckInput } from '../check-input.ts';
import { explainUnreachable } from '../explain-unreachable.ts';
import { type Check, type Finding, notChecked, ok, problem, warning } from '../finding.ts';

/** BullMQ requires it. */
const OLDEST_MAJOR = 5;
const FULL = 0.8;

/**
 * Redis answers, is recent enough, and evicts nothing. An emptied Redis causes a delay; an evicting one loses
 * notifications.
 */
export const redisCheck: Check<CheckInput> = {
  id: 'redis',
  title: 'Redis',
  async run({ settings, clock }) {
    if (settings.redisUrl === undefined)
      return notChecked('REDIS_URL is not set: Postgres carries notifications.');
    const { inspectRedis } = await import('../../../runtime/notifier/inspect-redis.ts');
    const inspected = await inspectRedis(settings.redisUrl, clock);
    if (inspected.kind === 'unreachable') return explainNoAnswer(inspected.hosts, inspected.error);
    const findings = inspected.servers.map(judgeServer);
    const worst = findings.find(({ verdict }) => verdict === 'problem');
    return worst ?? findings.find(({ verdict }) => verdict === 'warning') ?? findings;
  },
};

function explainNoAnswer(hosts: string, error: unknown): Finding {
  const text = error instanceof Error ? error.message : '';
  if (isRedisRefusal(text)) {
    return problem('Redis refuses the user name or the password in REDIS_URL.', {
      evidence: [`Redis at ${hosts}.`],
      advice: [
        'Correct the user name and the password in REDIS_URL. Special characters must be percent-encoded.',
      ],
    });
  }
  const { says, advice } = explainUnreachable(error, hosts);
  return problem(`Redis cannot be used. ${says}`, {
    evidence: [`REDIS_URL names ${hosts}.`],
    advice: [
      advice,
      'Deliveries are still accepted and stored. Until Redis is available again, polls and sends start later.',
    ],
  });
}

/** What is to be said of one server. */
export function judgeServer(server: RedisState): Finding {
  const { hosts, version, isReplica, policy, usedBytes, maxBytes } = server;
  const memory =
    maxBytes > 0
      ? `${megabytes(usedBytes)} of ${megabytes(maxBytes)} used`
      : `${megabytes(usedBytes)} used, no limit`;
  const evidence = [`Redis ${version} at ${hosts}: maxmemory-policy ${policy}, ${memory}.`];
  if (isReplica) {
    return problem('Redis is a replica, so it accepts no notifications.', {
      evidence,
      advice: ['Let the host in REDIS_URL lead to the primary, also after a failover.'],
    });
  }
  if (policy !== 'noeviction') {
    return problem(`Redis may evict notifications: its maxmemory-policy is ${policy}.`, {
      evidence,
      advice: [
        'Run redis-cli CONFIG SET maxmemory-policy noeviction, and make it permanent in redis.conf or in the parameters of your provider.',
        'No process starts with any other policy.',
      ],
    });
  }
  if (Number.parseInt(version, 10) < OLDEST_MAJOR) {
    return problem(`Redis ${version} is too old: 5.0 or newer is required.`, {
      evidence,
      advice: ['Upgrade Redis, or remove REDIS_URL: Postgres then carries notifications.'],
    });
  }
  if (maxBytes > 0 && usedBytes > FULL * maxBytes) {
    return warning('Redis is nearly full. When it is full, it accepts no jobs.', {
      evidence,
      advice: [
        'Raise maxmemory, and check what else uses it: the connector stores only small notifications.',
      ],
    });
  }
  return ok('Redis answers and evicts nothing.', { evidence });
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(1)} MB`;
}
