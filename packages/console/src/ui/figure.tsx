import type { ReactNode } from 'react';
import './cards.css';

/** A number of a screen: what it is called, its value, and in a few words what that is. */
export function Figure({
  name,
  value = '–',
  children,
}: {
  readonly name: string;
  readonly value?: string | number | undefined;
  readonly children: ReactNode;
}) {
  return (
    <>
      <span>{name}</span> <b className="figure">{value}</b> <span className="soft">{children}</span>
    </>
  );
}
