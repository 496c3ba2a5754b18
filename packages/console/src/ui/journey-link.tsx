import { Link } from '@tanstack/react-router';
import type { ComponentProps } from 'react';

/** Leads to the journey of a message, if there is one. */
export function JourneyLink({
  id,
  ...given
}: Pick<ComponentProps<'a'>, 'className' | 'tabIndex'> & { readonly id: string | null | undefined }) {
  if (id === null || id === undefined) return null;
  return (
    <Link to="/journey/$id" params={{ id }} preload={false} {...given}>
      Journey
    </Link>
  );
}
