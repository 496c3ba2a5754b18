import { Skip } from '../../runner/check.ts';
import { violate } from '../context.ts';
import { inSection } from '../integration-check.ts';

const BEGINS_MS = 30_000;
const SHOWN_MS = 30_000;
/** 3 to 5 s, with some time for the calls. */
const BETWEEN_MS = { least: 2_500, most: 7_000 };
/** Longer than an access token is valid. */
const TOKEN_LIFE_MS = 16 * 60_000;
const SENDS = 5;
/** After this time, the service has detected an outage. */
const DETECTED_MS = 5 * 60_000;
const BROKEN_MS = 60_000;
/** One when it broke, and one more. */
const MOST_RESTARTS = 2;

/** How an integration pairs a number, and keeps its grant. */
export const sessionChecks = inSection('Connection status', [
  {
    id: 'pair.polls',
    section: 'Rules per endpoint, 2',
    rule: 'While a number waits to be paired, GET /connections/{id} is polled every 3 to 5 s, for a new QR code.',
    needs: ['pair'],
    hint: 'A QR code is stale within seconds. Show that of each answer, until the status is connected: src/patterns/pairing-poll.ts.',
    async run(context) {
      const others = (await context.connections()).map(({ id }) => `/connections/${id}`);
      const mark = await context.mark();
      await context.inputs.pair?.();
      const created = await mark.until('POST', '/connections', (calls) => calls.length > 0, BEGINS_MS);
      if (created === undefined) throw new Skip('the integration made no POST /connections within 30 s');
      await context.sleep(SHOWN_MS);
      const all = await mark.calls('GET', '/connections/*');
      const reads = all.filter((call) => !others.includes(call.path));
      const between = reads.slice(1).map(({ at }, index) => at - (reads[index]?.at ?? at));
      const wrong = between.find((ms) => ms < BETWEEN_MS.least || ms > BETWEEN_MS.most);
      const path = reads.at(-1)?.path;
      // The owner scans, so that the integration stops.
      if (path !== undefined) await context.control('POST', `${path}/scan`, {});
      if (between.length < 3) violate('at least 4 reads in 30 s', `${reads.length}`, reads);
      if (wrong !== undefined) violate('3 to 5 s between reads', `${(wrong / 1_000).toFixed(1)} s`, reads);
    },
  },
  {
    id: 'session.broken',
    rule: 'A connection that needs to be paired again waits for its owner: it is not restarted in a loop.',
    level: 'should',
    hint: 'After needs_reconnect only a scan by the owner helps: show it, and restart once the owner asks for a code.',
    async run(context) {
      const id = await context.connection('qr');
      await context.control('POST', `/connections/${id}/outage`, { cause: 'session_lost' });
      await context.control('POST', '/clock/advance', { ms: DETECTED_MS });
      const mark = await context.mark();
      await context.sleep(BROKEN_MS);
      const restarts = await mark.calls('POST', `/connections/${id}/restart`);
      const { json } = await context.control('GET', `/connections/${id}`);
      const { status } = json as { status: string };
      // For the checks that follow: the owner scans what a restart has shown.
      await context.control('POST', `/connections/${id}/${status === 'connecting' ? 'scan' : 'recover'}`, {});
      if (restarts.length > MOST_RESTARTS)
        violate(`at most ${MOST_RESTARTS} restarts in 60 s`, `${restarts.length}`, restarts);
    },
  },
  {
    id: 'oauth.refresh',
    section: 'OAuth 2.0',
    rule: 'If several calls find that the access token has expired, it is refreshed once.',
    needs: ['oauth', 'send'],
    hint: 'A refresh invalidates the old refresh token, so run one at a time, and let the others wait for it: src/patterns/single-flight-refresh.ts.',
    async run(context) {
      const mark = await context.mark();
      await context.control('POST', '/clock/advance', { ms: TOKEN_LIFE_MS });
      await Promise.all(Array.from({ length: SENDS }, () => context.send()));
      const refused = await mark.until('POST', '/oauth/token', (calls) => calls.length > 0, BEGINS_MS);
      if (refused === undefined) throw new Skip('the integration refreshed no token within 30 s');
      await context.sleep(5_000);
      const refreshes = await mark.calls('POST', '/oauth/token');
      if (refreshes.length > 1) violate('one refresh', `${refreshes.length}`, refreshes);
    },
  },
]);
