import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import type { Root } from 'react-dom/client';
import { readMode } from './data/client.ts';
import { goLive, queries } from './data/live.ts';
import { keepFocus } from './shell/keep-focus.ts';
import { router } from './shell/router.tsx';
import { StartError } from './shell/shell.tsx';
import { applyTheme, readTheme } from './shell/theme.ts';

applyTheme(readTheme());
keepFocus();

/** Draws the page once it is known what it is connected to; until then, why it cannot start. */
export async function startPage(root: Root): Promise<void> {
  try {
    goLive(await readMode());
  } catch (error) {
    root.render(<StartError error={error} onRetry={() => void startPage(root)} />);
    return;
  }
  root.render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  );
}
