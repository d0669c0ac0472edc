"""AutoTVM: templates of TE schedules with knobs, tuned by measuring, with TVM's names."""
