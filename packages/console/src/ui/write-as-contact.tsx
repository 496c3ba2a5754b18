import { Link } from '@tanstack/react-router';
import { CONTACT } from '../data/contact.ts';

/** Leads to the phone of the contact who writes first. */
export function WriteAsContact({
  className,
  children,
}: {
  readonly className: string;
  readonly children?: React.ReactNode;
}) {
  return (
    <Link to="/phone/$id" params={{ id: CONTACT }} search={{ list: 'contacts' }} className={className}>
      {children}
      Write as a contact
    </Link>
  );
}
