/** The consumer group of the routes of a profile, or of those of none. @param group the workers' group */
export function routesGroup(group: string, profile?: string): string {
  return `${group}-${profile === undefined ? '' : `${profile}-`}routes`;
}

/** Which of some groups are like those of profiles and belong to none of these. */
export function strayRoutesGroups(
  groups: readonly string[],
  group: string,
  profiles: readonly string[],
): readonly string[] {
  const known = new Set([routesGroup(group), ...profiles.map((profile) => routesGroup(group, profile))]);
  return groups.filter((name) => name.startsWith(`${group}-`) && name.endsWith('-routes') && !known.has(name));
}
