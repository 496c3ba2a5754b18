import type { ReactNode } from 'react';
import { readMode } from '../data/client.ts';
import { useRead } from '../data/read.ts';
import { Button } from '../ui/button.tsx';
import { EmptyState, Loading } from '../ui/states.tsx';

type Rest = typeof import('./rest.ts');
const RELOADED = 'console-reloaded';

/** Whether the server of the page responds. */
const isServed = async (): Promise<boolean> => (await readMode().catch(() => null)) !== null;

/**
 * Loads the rest of the page. A browser does not load a file again that it could not load, and an updated server has
 * other files: if it fails although the server responds, the page is reloaded, once.
 */
async function loadRest(): Promise<Rest> {
  try {
    const rest = await import('./rest.ts');
    sessionStorage.removeItem(RELOADED);
    return rest;
  } catch (error) {
    if (sessionStorage.getItem(RELOADED) === null && (await isServed())) {
      sessionStorage.setItem(RELOADED, 'yes');
      location.reload();
    }
    throw error;
  }
}

/** A part of `rest.ts`. If it cannot be loaded, that is said in its place, and it is tried again. */
export function lazyPart<Name extends keyof Rest>(name: Name): Rest[Name] {
  function LazyPart(props: object): ReactNode {
    const { data: rest, error } = useRead({ queryKey: ['rest'], queryFn: loadRest });
    if (rest !== undefined) {
      const Part = rest[name] as (props: object) => ReactNode;
      return <Part {...props} />;
    }
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
  }
  return LazyPart as Rest[Name];
}
