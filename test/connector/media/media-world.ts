import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConnectorOptions } from '../../../src/connector/connector.ts';
import type { MediaStoreSettings } from '../../../src/connector/media/open-media.ts';
import type { Change, ChangeList } from '../../../src/contract/connector/changes.ts';
import type { ConnectorMessage } from '../../../src/contract/connector/messages.ts';
import { ConnectorWorld, type RunningConnector, TOKEN } from '../support/running-connector.ts';
import type { Fault } from '../support/scripted-service.ts';

export const PERSON = '447700900201';
const SMALL_FILE: Fault = { status: 200, body: 'bytes', headers: { 'content-type': 'image/png' } };

/** A connector that keeps files in a folder, and a service whose files a test controls. */
export class MediaWorld {
  readonly folder = mkdtempSync(join(tmpdir(), 'messaging-connector-media-'));
  readonly world: ConnectorWorld;
  running!: RunningConnector;
  /** What the service answers for a file. */
  file: Fault = SMALL_FILE;
  #count = 0;

  private constructor(world: ConnectorWorld) {
    this.world = world;
  }

  static async open(options: Partial<ConnectorOptions> = {}): Promise<MediaWorld> {
    const media = new MediaWorld(await ConnectorWorld.open());
    media.world.service.addConnection('c1');
    media.world.service.fault = ({ path }) => (path.startsWith('/media/') ? media.file : undefined);
    await media.start(options);
    await media.running.ask('POST', '/v1/sync');
    return media;
  }

  get disk(): MediaStoreSettings {
    return { kind: 'disk', folder: this.folder };
  }

  /** Removes what tests before have left at the service and in the store. */
  forget(): void {
    this.file = SMALL_FILE;
    this.world.service.messages = [];
    this.world.service.requests = [];
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Starts another process on the same database; `running` is the last one. */
  async start(options: Partial<ConnectorOptions> = {}): Promise<RunningConnector> {
    this.running = await this.world.start({ mediaStore: this.disk, ...options });
    return this.running;
  }

  /** Delivers a message with a file. */
  async receive(values: { id?: string; media_url?: string | null; from?: string } = {}): Promise<string> {
    this.#count += 1;
    const { clock, service, secret } = this.world;
    const message = {
      id: `m${this.#count}`,
      wa_id: null,
      from: PERSON,
      text: null,
      media_url: `${new URL(service.baseUrl).origin}/media/1`,
      media_type: 'image/png',
      timestamp: clock.now(),
      ...values,
    };
    const event = { event: 'message.received', connection_id: 'c1', message };
    const { status } = await this.running.deliver(event, secret);
    if (status !== 200) throw new Error(`the delivery was answered ${status}`);
    return message.id;
  }

  settle = (): Promise<void> => this.running.connector.settle();

  /** Delivers a message with a file, and copies the file. */
  async receiveAndCopy(): Promise<string> {
    const id = await this.receive();
    await this.settle();
    return id;
  }

  /** Passes time, and works on what is due then. */
  async pass(ms: number): Promise<void> {
    await this.world.clock.skip(ms);
    await this.settle();
  }

  async copyOf(id: string): Promise<ConnectorMessage['mediaCopy']> {
    const { body } = await this.running.ask('GET', `/v1/messages/${id}`);
    return (body as unknown as ConnectorMessage).mediaCopy;
  }

  /** The changes of a message, oldest first. */
  async changesOf(id: string): Promise<Change[]> {
    const { body } = await this.running.ask('GET', '/v1/changes?after=0&limit=500');
    return (body as unknown as ChangeList).changes.filter(
      (change) => 'messageId' in change && change.messageId === id,
    );
  }

  /** Type of each change of a message, with the state of its copy. */
  async statesOf(id: string): Promise<(string | undefined)[][]> {
    return (await this.changesOf(id)).map(({ type, data }) => [
      type,
      'mediaCopy' in data ? data.mediaCopy?.state : undefined,
    ]);
  }

  download(id: string, init: RequestInit = {}): Promise<Response> {
    const headers = { authorization: `Bearer ${TOKEN}` };
    return fetch(`${this.running.url}/v1/messages/${id}/media`, { headers, redirect: 'manual', ...init });
  }

  /** How often the service was asked for a file. */
  get fetches(): number {
    return this.world.service.requests.filter(({ path }) => path.startsWith('/media/')).length;
  }

  /** The files of the store, with their bytes. */
  get files(): Record<string, string> {
    if (!existsSync(this.folder)) return {};
    const entries = readdirSync(this.folder, { recursive: true, withFileTypes: true });
    return Object.fromEntries(
      entries
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
        .map((path) => [path.slice(this.folder.length + 1), readFileSync(path, 'utf8')]),
    );
  }

  /** The files of the store that this process has open. */
  get openFiles(): string[] {
    const links = readdirSync('/proc/self/fd').map((fd) => `/proc/self/fd/${fd}`);
    const targets = links.map((link) => (existsSync(link) ? readlinkSync(link) : ''));
    return targets.filter((target) => target.startsWith(this.folder));
  }

  async close(): Promise<void> {
    await this.world.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
