import { useNavigate, useParams } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import './journey.css';

export function JourneyScreen() {
  const { id } = useParams({ strict: false });
  return id === undefined ? <Ask /> : <h1 className="mono">{id}</h1>;
}

/** Asks for the id of a message. */
function Ask() {
  const navigate = useNavigate();
  const [text, setText] = useState('');
  const open = (event: FormEvent): void => {
    event.preventDefault();
    const id = text.trim();
    if (id !== '') void navigate({ to: '/journey/$id', params: { id } });
  };
  return (
    <form className="state journey-ask" onSubmit={open}>
      <h2>Follow one message</h2>
      <label htmlFor="message">Id of the message</label>
      <div className="journey-line">
        <input
          id="message"
          className="mono"
          autoComplete="off"
          spellCheck={false}
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
        <button type="submit" className="button main">
          Follow
        </button>
      </div>
      <p className="soft">Deliveries, calls and chats link to the journeys of their messages.</p>
    </form>
  );
}
