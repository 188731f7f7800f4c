// SPDX-License-Identifier: BSD-3-Clause
// Pictures that move together: what turns, zooms or moves one does it to all.

/** Links views that have `onMove`, `place` (where one looks from) and `follow(place)`. */
export function link(views) {
  let isFollowing = false;
  for (const view of views) {
    view.onMove = () => {
      if (isFollowing) return;
      isFollowing = true;
      for (const other of views) if (other !== view) other.follow(view.place);
      isFollowing = false;
    };
  }
  views[0].onMove();
}
