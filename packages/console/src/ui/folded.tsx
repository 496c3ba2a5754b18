import { useState } from 'react';
import { Button } from './button.tsx';

/** A text of more letters than this may need more than two lines. */
const LONG = 180;

/** A text of people. A long one is cut after two lines, until it is unfolded. */
export function Folded({ text }: { readonly text: string }) {
  const [isOpen, setOpen] = useState(false);
  if (text.length <= LONG) return <bdi>{text}</bdi>;
  return (
    <>
      <bdi className={isOpen ? undefined : 'folded'}>{text}</bdi>{' '}
      <Button kind="quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? 'Show less' : 'Show all'}
      </Button>
    </>
  );
}
