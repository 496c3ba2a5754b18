import type { MediaStoreSettings } from '../connector/media/open-media.ts';
import type { ConfigurationProblem } from '../runtime/config/configuration-error.ts';
import type { ConnectorSettings } from './settings.ts';

const NEEDED = {
  disk: ['MEDIA_FOLDER'],
  s3: ['MEDIA_ENDPOINT', 'MEDIA_BUCKET', 'MEDIA_ACCESS_KEY_ID', 'MEDIA_SECRET_ACCESS_KEY'],
} as const;

/** Reads the store of files from the settings; undefined if there is none. Each problem names its setting. */
export function readMediaStore(settings: ConnectorSettings): {
  readonly store: MediaStoreSettings | undefined;
  readonly problems: readonly ConfigurationProblem[];
} {
  const { MEDIA_STORE: kind, MEDIA_FOLDER: folder, MEDIA_ENDPOINT: endpoint } = settings;
  const problems: ConfigurationProblem[] = [];
  for (const [owner, names] of Object.entries(NEEDED)) {
    for (const setting of names) {
      const isSet = settings[setting] !== undefined;
      if (owner === kind && !isSet)
        problems.push({ setting, problem: `is not set, but MEDIA_STORE is ${kind}, which needs it.` });
      if (owner !== kind && isSet) {
        const found = kind === undefined ? 'is not set' : `is ${kind}`;
        problems.push({
          setting,
          problem: `has no effect, because MEDIA_STORE ${found}; set MEDIA_STORE to ${owner}, or remove it.`,
        });
      }
    }
  }
  if (endpoint !== undefined && new URL(endpoint).pathname !== '/')
    problems.push({ setting: 'MEDIA_ENDPOINT', problem: 'has a path; the bucket is MEDIA_BUCKET.' });
  if (problems.length > 0 || kind === undefined) return { store: undefined, problems };
  if (kind === 'disk') return { store: { kind, folder: folder ?? '' }, problems };
  const {
    MEDIA_BUCKET: bucket = '',
    MEDIA_ACCESS_KEY_ID: accessKeyId = '',
    MEDIA_SECRET_ACCESS_KEY: secret,
  } = settings;
  const store = {
    kind,
    endpoint: endpoint ?? '',
    region: settings.MEDIA_REGION,
    bucket,
    prefix: settings.MEDIA_PREFIX ?? '',
    accessKeyId,
    secretAccessKey: secret?.reveal() ?? '',
    pathStyle: settings.MEDIA_ADDRESSING === 'path',
  };
  return { store, problems };
}
