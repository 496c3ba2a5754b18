import { Link } from '@tanstack/react-router';
import Bad from 'lucide-react/icons/circle-alert';
import Fine from 'lucide-react/icons/circle-check';
import Unknown from 'lucide-react/icons/circle-dashed';
import Warn from 'lucide-react/icons/triangle-alert';
import { sandbox } from '../../data/client.ts';
import { mode } from '../../data/live.ts';
import { useReading } from '../../data/read.ts';
import { useAction } from '../../data/use-action.ts';
import { ReadSection } from '../../ui/as-of.tsx';
import { Button } from '../../ui/button.tsx';
import { Failure } from '../../ui/states.tsx';
import { useConcerns } from './use-concerns.ts';

/** What is known if nothing needs attention: what was read, and no more. */
const ALL_CLEAR = {
  sandbox: 'Nothing. Every number works, and no webhook refused its last delivery.',
  production: 'Nothing. Polls succeed, credentials are accepted, and no change was set aside.',
} as const;

/** What waits for a person, the gravest first. */
export function Attention() {
  const { concerns, figures } = useConcerns();
  const { isCurrent } = useReading(figures);
  const clear = useAction({ mutationFn: () => sandbox('DELETE', '/faults') });
  return (
    <ReadSection
      label="Needs attention"
      figures={figures}
      error={figures.find(({ failure }) => failure !== null)?.failure}
    >
      <div aria-live="polite">
        {concerns.length === 0 ? (
          <p className="card rows quiet" data-clear={isCurrent}>
            {isCurrent ? <Fine /> : <Unknown />}
            {isCurrent ? ALL_CLEAR[mode().mode] : 'Not known until everything has been read.'}
          </p>
        ) : (
          <ul className="card rows concerns">
            {concerns.map((concern) => (
              <li key={`${concern.title} ${concern.hint}`} data-tone={concern.tone}>
                {concern.tone === 'bad' ? <Bad /> : <Warn />}
                <div>
                  <bdi>
                    {concern.to === null ? (
                      <b>{concern.title}</b>
                    ) : (
                      <Link
                        to={concern.to}
                        {...(concern.hash && { hash: concern.hash })}
                        search={concern.q === undefined ? {} : { q: concern.q }}
                      >
                        {concern.title}
                      </Link>
                    )}
                  </bdi>
                  <p className="soft">
                    <bdi>{concern.hint}</bdi>
                  </p>
                </div>
                {concern.remedy === 'remove_faults' ? <Button action={clear}>Remove all</Button> : null}
              </li>
            ))}
          </ul>
        )}
      </div>
      <Failure error={clear.error} />
    </ReadSection>
  );
}
