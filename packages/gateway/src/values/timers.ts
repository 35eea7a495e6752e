/** Longest time of a timer in milliseconds. Node.js would end a longer one at once. */
export const longestTimerMs = 2 ** 31 - 1;
