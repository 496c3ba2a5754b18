import { randomUUID } from 'node:crypto';
import { AwsClient } from 'aws4fetch';
import type { Clock } from '../../runtime/clock/clock.ts';
import { abortAfter } from '../../runtime/clock/deadline.ts';
import { ConfigurationError } from '../../runtime/config/configuration-error.ts';
import { type MediaStore, ObjectRefused, StoreFailure, type WholeFile } from './media-store.ts';

/** A bucket of S3, or of a server that speaks its protocol. */
export interface S3Settings {
  /** Scheme, host and port. */
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  /** What all keys begin with, such as `crm/`; may be empty. */
  readonly prefix: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** True: the bucket is in the path of addresses, not in their host. */
  readonly pathStyle: boolean;
}

const ANSWER_WITHIN_MS = 60_000;
const LINK_VALID_S = 300;
const PROBE_FILE: WholeFile = {
  pieces: [Buffer.from('probe')],
  size: 5,
  sha256: 'UNSIGNED-PAYLOAD',
  contentType: 'text/plain',
};
/** With these, a bucket refuses a size or a key, but also a wrong region. */
const MAY_REFUSE_OBJECT = [400, 413];

/** The store answered something else than a success. */
class StoreRefusal extends StoreFailure {
  readonly status: number;
  /** The code of S3, such as `NoSuchBucket`; empty if it has none. */
  readonly code: string;

  constructor(status: number, code: string) {
    super(`the bucket of files answered ${status} ${code}`.trimEnd());
    this.status = status;
    this.code = code;
  }
}

/** Keeps files in a bucket. Readers get signed links, which nothing stores. */
export function createS3Store(settings: S3Settings, clock: Clock): MediaStore {
  const { bucket, region, prefix, accessKeyId, secretAccessKey } = settings;
  const client = new AwsClient({ accessKeyId, secretAccessKey, region, service: 's3' });
  const base = new URL(settings.endpoint);
  if (!settings.pathStyle) base.host = `${bucket}.${base.host}`;
  const folder = settings.pathStyle ? `/${bucket}/` : '/';
  const urlOf = (key: string): URL => new URL(`${folder}${prefix}${key}`, base);
  // Signed with our clock: 20260102T030405Z.
  const datetime = (): string => new Date(clock.now()).toISOString().replaceAll(/[-:]|\.\d{3}/g, '');

  /** A bucket answers without a body, and to a PUT with a tag: anything else is of a proxy. */
  async function call(
    method: string,
    key: string,
    file?: WholeFile,
    signal?: AbortSignal,
  ): Promise<Response> {
    const headers = file && {
      'content-length': String(file.size),
      'content-type': file.contentType,
      'x-amz-content-sha256': file.sha256,
    };
    const exchange = async (over: AbortSignal): Promise<Response> => {
      const init = { method, headers, aws: { datetime: datetime() } };
      const request = await client.sign(urlOf(key).href, init as RequestInit);
      const body = file === undefined ? null : ReadableStream.from(file.pieces);
      const answer = await fetch(request, { body, duplex: 'half', redirect: 'manual', signal: over });
      const text = await answer.text();
      if (answer.ok && text === '' && (method !== 'PUT' || answer.headers.has('etag'))) return answer;
      throw new StoreRefusal(answer.status, /<Code>(\w{1,64})<\/Code>/.exec(text)?.[1] ?? '');
    };
    try {
      return await abortAfter(clock, ANSWER_WITHIN_MS, exchange, signal);
    } catch (cause) {
      if (cause instanceof StoreFailure) throw cause;
      throw new StoreFailure('the bucket of files could not be reached', { cause });
    }
  }

  const put = async (key: string, file: WholeFile, signal?: AbortSignal): Promise<void> =>
    void (await call('PUT', key, file, signal));
  const remove = async (key: string): Promise<void> =>
    void (await call('DELETE', key).catch(unlessAbsent('NoSuchKey', [404])));

  /** S3 answers 403 for an object that is not there if the access key may not list objects. */
  async function sizeOf(key: string, absent: readonly number[] = [403, 404]): Promise<number | null> {
    const answer = await call('HEAD', key).catch(unlessAbsent('', absent));
    return answer === null ? null : Number(answer.headers.get('content-length'));
  }

  /** Other processes do the same. */
  const probed = `.messaging-connector-${randomUUID()}`;
  async function probe(): Promise<void> {
    await put(probed, PROBE_FILE);
    await sizeOf(probed, [404]);
    await remove(probed);
  }

  return {
    async check() {
      try {
        await probe();
      } catch (error) {
        if (!(error instanceof StoreRefusal) || !refusesSettings(error)) throw error;
        const [setting, problem] = explain(error);
        throw new ConfigurationError([
          { setting, problem: `${problem} (${error.status} ${error.code || 'without a code'}).` },
        ]);
      }
    },
    async put(key, file, signal) {
      try {
        await put(key, file, signal);
      } catch (error) {
        if (!(error instanceof StoreRefusal && MAY_REFUSE_OBJECT.includes(error.status))) throw error;
        await probe();
        throw new ObjectRefused(error.message, { cause: error });
      }
    },
    sizeOf,
    async read(key, { contentType, disposition }) {
      const url = urlOf(key);
      url.searchParams.set('X-Amz-Expires', String(LINK_VALID_S));
      url.searchParams.set('response-content-type', contentType);
      url.searchParams.set('response-content-disposition', disposition);
      const signed = await client.sign(url.href, {
        method: 'GET',
        aws: { signQuery: true, datetime: datetime() },
      });
      // Not every server reads a + in a query as the space that was signed.
      return { url: signed.url.replaceAll('+', '%20') };
    },
    remove,
  };
}

/** Null if the answer had one of these statuses and this code: a proxy answers 404 as well. */
const unlessAbsent = (code: string, statuses: readonly number[]) => (error: unknown) => {
  if (error instanceof StoreRefusal && statuses.includes(error.status) && error.code === code) return null;
  throw error;
};

/** A server that fails, limits the rate or is replaced by a page for a while says nothing about the settings. */
const refusesSettings = ({ status }: StoreRefusal): boolean =>
  status >= 300 && status < 500 && status !== 429;

/** Which setting a refusal of the first calls is about, and what is wrong with it. */
function explain({ status, code }: StoreRefusal): readonly [setting: string, problem: string] {
  if (code === 'InvalidAccessKeyId') return ['MEDIA_ACCESS_KEY_ID', 'is a key that the bucket does not know'];
  if (code === 'SignatureDoesNotMatch')
    return ['MEDIA_SECRET_ACCESS_KEY', 'does not belong to MEDIA_ACCESS_KEY_ID'];
  if (code === 'NoSuchBucket' || status === 404)
    return ['MEDIA_BUCKET', 'names a bucket that does not exist at MEDIA_ENDPOINT; create it'];
  if (
    code === 'AuthorizationHeaderMalformed' ||
    code === 'PermanentRedirect' ||
    status === 301 ||
    status === 307
  )
    return ['MEDIA_REGION', 'is not the region of the bucket, or MEDIA_ENDPOINT is not that of the region'];
  if (status === 403)
    return ['MEDIA_ACCESS_KEY_ID', 'may not put, read and delete objects under MEDIA_PREFIX'];
  return ['MEDIA_ENDPOINT', 'refuses to store an object'];
}
