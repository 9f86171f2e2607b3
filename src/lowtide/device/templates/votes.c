    {
        /* Written as volatile, so that compilers make no call of a library's memset of it. */
        volatile int votes[${P}_CLASSES];
        int best = 0, column = 0, i, j;
        for (i = 0; i < ${P}_CLASSES; ++i) votes[i] = 0;
        for (i = 0; i < ${P}_CLASSES; ++i) {
            for (j = i + 1; j < ${P}_CLASSES; ++j) ++votes[scores[column++] > 0 ? i : j];
        }
        for (i = 1; i < ${P}_CLASSES; ++i) {
            if (votes[i] > votes[best]) best = i;
        }
        return best;
    }