import { matchesGlob } from 'node:path';

/** The files of each project of the run. Files that no other project names belong to `service`. */
export const PROJECTS = {
  /** Starts no process and opens no connection. */
  unit: [
    'test/{architecture,bench,contract,mutants,requirements}/**/*.test.ts',
    'packages/console/test/*.test.tsx',
    'packages/console/test/{build-journey,chats,concerns,conversations,gather,live-list,reading,series}.test.ts',
    'test/patterns/{message-status,pairing-poll,phone-variants,reconcile-walk,send-policy,single-flight-refresh,verify-signature}.test.ts',
    'packages/*/test/{forms,judgement,reports,requests}.test.ts',
    'test/docs/{api,appendix,day-one,fidelity,links,numbers,secrets,what-you-get}.test.ts',
    'test/package/image-files.test.ts',
    'test/support/check-invariants.test.ts',
    'test/runtime/{addresses,config,event-loop,logger,metrics,page,sealing,supervisor,turns,in-flight}/*.test.ts',
    'test/runtime/clock/{back-off,deadline,manual-clock,repeat,share-reads}.test.ts',
    'test/runtime/http-server/{bound-json,charset,memory-budget}.test.ts',
    'test/runtime/public-network/{keeps-secrets,public-address}.test.ts',
    'test/cli/{command-line,connector-settings,env-example,load-handlers}.test.ts',
    'test/connector/api/search-messages.test.ts',
    'test/connector/audit.test.ts',
    'test/connector/doctor/{checks,explain-unreachable}.test.ts',
    'test/connector/state/health.test.ts',
    'test/connector/consumers/describe-failure.test.ts',
    'test/connector/inbox/{commit-queue,interpret-body,webhook-path}.test.ts',
    'test/connector/media/{read-slowly,safe-type}.test.ts',
    'test/connector/oauth/consent-pages.test.ts',
    'test/connector/reconcile/page-pipeline.test.ts',
    'test/connector/service-client/service-writes.test.ts',
    'test/connector/work/planned.test.ts',
    'test/platform/{identifiers,seeded-random}.test.ts',
    'test/platform/connections/{pairing-picture,transitions}.test.ts',
    'test/platform/connections/health/plan-discovery.test.ts',
    'test/platform/credentials/address-allowlist.test.ts',
    'test/platform/messages/receipt-ladder.test.ts',
    'test/platform/network/plan-receipts.test.ts',
    'test/platform/time/{domain-clock,write-gate}.test.ts',
    'test/platform/webhooks/{send-attempt,sign-event,webhook-url}.test.ts',
    'test/sandbox/events/event-writer.test.ts',
    'test/sandbox/flight-recorder.test.ts',
    'test/scenario/scenario.test.ts',
    'test/sandbox/faults/fault-board.test.ts',
    'test/testing/deliver.test.ts',
  ],
  /** Starts other processes: commands, Postgres, Redis, proxies, foreign clients. */
  process: [
    'test/index.test.ts',
    'packages/console/test/{accessible,built-page,command,door,host,hostile-texts,journeys,layout}.test.ts',
    'packages/console/test/{own-name,production,server-gone}.test.ts',
    'test/cli/{connector,doctor,platform,programs,quick-imports,scenario,start,supervisor}.test.ts',
    'test/package/dependencies.test.ts',
    'packages/conformance/test/command.test.ts',
    'test/connector/{canary,shared-redis}.test.ts',
    'test/connector/api/consumers.test.ts',
    'test/connector/consumers/{sinks/bullmq-sink,two-connectors}.test.ts',
    'test/connector/doctor/stores.test.ts',
    'test/connector/feed/sequencer.test.ts',
    'test/connector/replay/replay.test.ts',
    'test/connector/oauth/refresh-processes.test.ts',
    'test/platform/db/process-lease.test.ts',
    'test/platform/{mcp,oauth}/foreign-judges.test.ts',
    'test/runtime/clock/system-clock.test.ts',
    'test/runtime/database/{database,embedded/{embedded,find-running},pgbouncer}.test.ts',
    'test/runtime/{lifecycle/lifecycle,node-version/*,notifier/*}.test.ts',
    'test/testing/shared-server.test.ts',
  ],
  /** Runs what users run as it is shown: commands of the documents, docker-compose.yml, examples. */
  docs: [
    'packages/certify/test/command.test.ts',
    'packages/conformance/test/docs.test.ts',
    'test/docs/{compose,contributing,deploy,oauth,operations,patterns,proxy}.test.ts',
    'test/docs/{readme,rehearsal,sandbox,scenarios,tools,your-crm}.test.ts',
    'test/examples/{adapters,bullmq-worker,crm-handler,http-consumer-python,receivers}.test.ts',
    'test/testing/examples.test.ts',
  ],
  /** Takes long: breaks the rules that the suites check, installs what users install, or runs the containers. */
  long: [
    'packages/*/test/*-gallery.test.ts',
    'packages/certify/test/own-*.test.ts',
    'packages/n8n/test/nodes.test.ts',
    'test/connector/inbox/receiver-fuzz.test.ts',
    'test/examples/edge-receivers.test.ts',
    'test/package/{containers,package,tools}.test.ts',
  ],
  /** Kills, disconnects and restarts for minutes in real time, searches at random, runs benchmarks, or fills memory. */
  campaign: ['test/campaign/*.test.ts'],
} as const;

/** The projects that name a test file, by its path from the root; `service` if no other does. */
export function projectsOf(path: string): readonly string[] {
  const named = Object.entries(PROJECTS).filter(([, globs]) => globs.some((glob) => matchesGlob(path, glob)));
  return named.length === 0 ? ['service'] : named.map(([project]) => project);
}
