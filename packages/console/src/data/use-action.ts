import { type UseMutationOptions, useMutation } from '@tanstack/react-query';
import { useRef } from 'react';

/**
 * A mutation that runs once at a time: further calls are ignored until it ends. Its button is marked as
 * `aria-disabled`, because a disabled button loses the focus.
 */
export function useAction<Data, Input = void>(options: UseMutationOptions<Data, Error, Input>) {
  const action = useMutation(options);
  // `isPending` follows a moment later: a second press may be earlier.
  const isRunning = useRef(false);
  const mutate = (input: Input): void => {
    if (isRunning.current) return;
    isRunning.current = true;
    const over = (): void => {
      isRunning.current = false;
    };
    action.mutateAsync(input).then(over, over);
  };
  return { ...action, mutate };
}
