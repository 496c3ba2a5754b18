import type { ReactNode } from 'react';
import { readMode } from '../data/client.ts';
import { useRead } from '../data/read.ts';
import { Button } from './button.tsx';
import { EmptyState, Loading } from './states.tsx';

type Part<Props> = (props: Props) => ReactNode;
type Load<Props> = () => Promise<Part<Props>>;

const loads: Load<never>[] = [];

/** Loads all parts, so that they are there when the server is not. */
export function preloadParts(): void {
  void Promise.allSettled(loads.map((load) => load()));
}

const RELOADED = 'console-reloaded-for';

/** Whether the server of the page responds. */
const isServed = async (): Promise<boolean> => (await readMode().catch(() => null)) !== null;

/**
 * Loads a part. A browser does not load a file again that it could not load, and an updated server has other files: if
 * it fails although the server responds, the page is reloaded, once.
 */
async function loadPart<Props>(name: string, load: Load<Props>): Promise<Part<Props>> {
  try {
    const part = await load();
    sessionStorage.removeItem(RELOADED);
    return part;
  } catch (error) {
    if (sessionStorage.getItem(RELOADED) !== name && (await isServed())) {
      sessionStorage.setItem(RELOADED, name);
      location.reload();
    }
    throw error;
  }
}

/** A part of the page with a file of its own. If it cannot be loaded, that is said in its place, and it is tried again. */
export function lazyPart<Props extends object = Record<never, never>>(
  name: string,
  load: Load<Props>,
): Part<Props> {
  loads.push(load as Load<never>);
  return function LazyPart(props: Props) {
    const { data: Content, error } = useRead({
      queryKey: ['part', name],
      queryFn: () => loadPart(name, load),
    });
    if (Content !== undefined) return <Content {...props} />;
    if (error === null) return <Loading />;
    const retry = async (): Promise<void> => {
      if (await isServed()) location.reload();
    };
    return (
      <EmptyState
        isError
        title="This part of the page cannot be loaded"
        hint="It is tried again every few seconds, and appears once the server responds."
        action={<Button onClick={() => void retry()}>Try again</Button>}
      />
    );
  };
}
