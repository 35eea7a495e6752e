/** What the objects of one program have in common */
export interface KubernetesProgram {
  name: string;
  /** What tells its pods from others, as fields of a mapping */
  labels: string;
}

export const metadata = ({ name, labels }: KubernetesProgram): string => `metadata:
  name: ${name}
  labels: { ${labels} }
`;

/** Returns what lets only one pod of a program be away, for this reason. */
export const disruptionBudget = (
  reason: string,
  program: KubernetesProgram,
): string => `# ${reason} Written by \`sheaf deploy kubernetes\`.
apiVersion: policy/v1
kind: PodDisruptionBudget
${metadata(program)}spec:
  maxUnavailable: 1
  selector:
    matchLabels: { ${program.labels} }
`;
