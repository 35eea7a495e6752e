/** Names the variable of the environment that makes a process take over from the one that started it. */
export const successorVariable = 'SHEAF_SUCCESSOR';
