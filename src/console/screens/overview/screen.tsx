import { mode } from '../../data/live.ts';
import { useRead } from '../../data/read.ts';
import { syncStatus } from '../../data/sync-status.ts';
import { lazyPart } from '../../ui/lazy-part.tsx';
import { Attention } from './attention.tsx';
import { Lane } from './lane.tsx';
import './overview.css';

const Summary = lazyPart('summary', async () => (await import('../sync/summary.tsx')).Summary);
const Environment = lazyPart('environment', async () => (await import('./environment.tsx')).Environment);

/**
 * What to do first, how webhooks fare, and what an application needs to call this sandbox; beside a connector in
 * production, whether it keeps up.
 */
export function OverviewScreen() {
  const isSandbox = mode().mode === 'sandbox';
  const { data, ...figure } = useRead({ ...syncStatus(), enabled: !isSandbox });
  return (
    <div className="overview">
      <div>
        <Attention />
        <Lane />
      </div>
      {isSandbox ? <Environment /> : null}

      {isSandbox || data === undefined ? null : <Summary status={data} figure={figure} />}
    </div>
  );
}
