/** Everything that is measured, by the key that `--subjects` and the plan use. */
import { floorWithoutSync, floorWithSync } from './floor.mjs';
import { offstageFull, offstageProcess } from './offstage.mjs';
import { bullmq } from './peers/bullmq.mjs';
import { fastQueue } from './peers/fastq.mjs';
import { pQueue } from './peers/p-queue.mjs';

export const subjects = {
  offstage: offstageFull,
  'offstage-process': offstageProcess,
  bullmq,
  floor: floorWithoutSync,
  'floor-sync': floorWithSync,
  'p-queue': pQueue,
  fastq: fastQueue,
};
