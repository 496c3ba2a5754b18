import { type UseMutationOptions, useMutation } from '@tanstack/react-query';

/**
 * A mutation that runs once at a time: further calls are ignored until it ends. Its button is marked as
 * `aria-disabled`, because a disabled button loses the focus.
 */
export function useAction<Data, Input = void>(options: UseMutationOptions<Data, Error, Input>) {
  const action = useMutation(options);
  const mutate = (input: Input): void => {
    if (!action.isPending) action.mutate(input);
  };
  return { ...action, mutate };
}
