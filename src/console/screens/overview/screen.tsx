import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import { mode } from '../../data/live.ts';
import { syncStatus } from '../../data/sync-status.ts';
import { Attention } from './attention.tsx';
import { Environment } from './environment.tsx';
import { Lane } from './lane.tsx';
import './overview.css';

const Summary = lazy(async () => ({ default: (await import('../sync/summary.tsx')).Summary }));

/**
 * What to do first, how webhooks fare, and what an application needs to call this sandbox; beside a connector in
 * production, whether it keeps up.
 */
export function OverviewScreen() {
  const isSandbox = mode().mode === 'sandbox';
  const { data } = useQuery({ ...syncStatus(), enabled: !isSandbox });
  return (
    <div className="overview">
      <h1 className="visually-hidden">Overview</h1>
      <div>
        <Attention />
        <Lane />
      </div>
      {isSandbox ? <Environment /> : null}
      <Suspense>{isSandbox || data === undefined ? null : <Summary status={data} />}</Suspense>
    </div>
  );
}
